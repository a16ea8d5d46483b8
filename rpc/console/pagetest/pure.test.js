// Tests of what the console's page computes without a browser: make test-console-page runs them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { condition, line, sentences, share, steps } from "../page/bucket.js";
import { bytes, canonical, duration, escapeKey, list, milliseconds, parseDuration, percent, short, unescapeKey, visible } from "../page/format.js";
import { arc } from "../page/ring.js";
import { decided, exchange, findID, gatewayName, headline, passes, verdict } from "../page/story.js";
import { numbers, outcome } from "../page/words.js";

test("numbers are short", () => {
  for (const [n, want] of [[0, "0"], [0.01, "<0.1"], [0.44, "0.4"], [9.96, "10"], [1234, "1,234"], [12345, "12.3K"], [3.4e6, "3.4M"], [NaN, "–"]]) assert.equal(short(n), want);
  for (const [n, want] of [[0, "0%"], [0.0001, "<0.1%"], [0.054, "5.4%"], [0.5, "50%"], [0.9999, ">99.9%"], [1, "100%"], [-1, "–"]]) assert.equal(percent(n), want);
  for (const [n, want] of [[0, "–"], [0.25, "250 µs"], [2.34, "2.3 ms"], [120, "120 ms"], [2345, "2.3 s"]]) assert.equal(milliseconds(n), want);
  for (const [n, want] of [[0, "0 B"], [1023, "1023 B"], [1536, "1.5 KiB"], [3 * 2 ** 30, "3.0 GiB"]]) assert.equal(bytes(n), want);
  assert.equal(list(["a", "b", "c"]), "a, b and c");
});

test("durations are those of the command line, rounded up", () => {
  const all = [[0, "0s"], [1, "1ns"], [1500, "1.5µs"], [2.5e6, "2.5ms"], [3.499e8, "350ms"], [2.5e9, "2.5s"], [59.2e9, "1m"], [200e9, "3m20s"], [3600e9, "1h"], [35990e9, "9h59m50s"], [122 * 3600e9, "5d2h"]];
  for (const [ns, want] of all) assert.equal(duration(ns), want);
  for (const [text, ns] of [["s", 1e9], ["1m30s", 90e9], ["1.5s", 1.5e9], ["24h", 86400e9], ["250ms", 250e6]]) assert.equal(parseDuration(text), ns);
  assert.ok(Number.isNaN(parseDuration("soon")));
});

test("texts from outside steer nothing", () => {
  assert.equal(visible("user:42 ä 日本 😀"), "user:42 ä 日本 😀");
  assert.equal(visible("a\nb\u001b[31m\u202egnp\u2066"), "a\\u{a}b\\u{1b}[31m\\u{202e}gnp\\u{2066}");
  assert.equal(visible("👩‍🚀"), "👩‍🚀", "emoji stay together");
  assert.ok(!/\p{Cs}/u.test(visible("a\ud800")), "half a character is none");
  for (const key of ["user:42", "a/b?c#d%", "<script>", "\u0000\n", "ä日😀"]) assert.equal(unescapeKey(escapeKey(key)), key);
  assert.equal(canonical("ip:2001:db8::/64"), "ip%3A2001%3Adb8%3A%3A%2F64");
  assert.equal(canonical("a/../../debug"), "a%2F..%2F..%2Fdebug", "a link leads nowhere else");
  assert.equal(canonical("%ff"), "%ff");
  assert.equal(unescapeKey("%ff"), "%ff", "what cannot be decoded stays");
});

test("limits are told in words", () => {
  const all = [
    [{ algorithm: "token-bucket", capacity: 60, refill: "1/s" }, "60 at once, then 1 comes back each second"],
    [{ capacity: 1000, refill: "100/5m" }, "1,000 at once, then 100 come back each 5 minutes"],
    [{ algorithm: "fixed-window", limit: 100, window: "1m" }, "100 in each minute"],
    [{ algorithm: "fixed-window", limit: 9, per: "day", timezone: "Europe/Berlin", anchor: "3" }, "9 in each day (Europe/Berlin, from 3:00)"],
    [{ algorithm: "sliding-window", limit: 9, window: "90s", weighted: true }, "9 in any 90 seconds, estimated from two windows"],
    [{ algorithm: "concurrency", limit: 5, lease: "1m" }, "5 inside at once; one that does not come back is forgotten after 1m"],
  ];
  for (const [limit, want] of all) assert.equal(numbers(limit), want);
  assert.equal(outcome({ allowed: false, remaining: 0, limit: 10, retry_after_ms: 12000 }), "0 of 10 left; try again in 12s");
  assert.equal(outcome({ allowed: false, never: true, remaining: 9, limit: 10 }), "9 of 10 left; the cost is above the capacity and can never pass");
});

const NOW = 1772366400000000000n;
const at = (seconds) => String(NOW + BigInt(Math.round(seconds * 1e9)));

// bucket is one of 10 tokens, one more each 6 minutes, of which so many seconds of line are spent.
function bucket(spent, more = {}) {
  const tokens = Math.floor((3600 - spent) / 360);
  return {
    key: "user:42", limit: { algorithm: "token-bucket", capacity: 10, refill: "10/h" }, now_ns: String(NOW), now: "2026-03-01T12:00:00Z", tokens, tat_ns: at(spent), credit_ns: "0",
    segment: { start_ns: "0", end_ns: "0" }, next: { start_ns: "0", end_ns: "0" }, line: { start_ns: at(0), end_ns: at(3600) }, passes_ns: at(Math.max(0, spent - 3240)), full_ns: at(spent), registers: [], recent: [], ...more,
  };
}

test("a bucket is drawn on its line", () => {
  const b = bucket(1800, { credit_ns: "360000000000", segment: { start_ns: at(1800), end_ns: at(2160) }, leases: [{ tokens: 1, line: { start_ns: at(720), end_ns: at(1080) } }] });
  const { to, pieces } = line(b);
  assert.equal(to, 3600e9);
  assert.deepEqual(pieces.map((p) => [p.kind, p.from / 1e9, p.to / 1e9]), [["free", 0, 3600], ["spent", 0, 1800], ["returned", 1440, 1800], ["leased", 720, 1080], ["reserved", 1800, 2160]]);
  for (const p of line(bucket(4000)).pieces) assert.ok(p.from >= 0 && p.to <= 4000e9 && p.to > p.from, p.kind);
  assert.equal(line(bucket(-100)).pieces.some((p) => p.kind === "spent"), false, "a full bucket has nothing spent");
  const window = line(bucket(1800, { line: { start_ns: at(60), end_ns: at(3660) } }));
  assert.ok(window.pieces.some((p) => p.kind === "skipped" && p.to === 60e9));
});

test("a bucket says what it answers", () => {
  assert.equal(condition(bucket(0))[0], "allowed");
  assert.deepEqual(condition(bucket(3600)), ["denied", "Denies", "one more passes in 6m"]);
  assert.equal(condition(bucket(0, { closed_until: "2026-03-01T12:01:00Z", passes_ns: at(60) }))[1], "Closed");
  assert.deepEqual(condition(bucket(0, { verdict: "deny", override_until: "2026-03-01T12:10:00Z" })), ["blocked", "Blocked", "an override denies every check, for 10m more"]);
  assert.equal(condition(bucket(3600, { verdict: "allow" }))[0], "open", "an override decides, and not the bucket");
  assert.equal(share(bucket(1800)), 0.5);
  assert.equal(Object.fromEntries(sentences(bucket(1800))).full, "in 30m");
});

test("what counts ends step by step", () => {
  const b = { ...bucket(0), line: undefined, entries: [{ until_ns: at(30), amount: 2 }, { until_ns: at(10), amount: 3 }, { until_ns: at(30), amount: 1 }] };
  assert.deepEqual(steps(b), [{ at: 0, used: 6 }, { at: 10e9, used: 3 }, { at: 30e9, used: 0 }]);
});

test("a denial is a story", () => {
  const denied = { name: "items", allowed: false, limit: 60, remaining: 0, retry_after_ms: 226 };
  const r = { id: "dev-j-2aw3kuuavbvwikhf", status: 429, reason: "denied", cost: 1, source: "cluster", node: "a:7700", limits: [{ outcome: { name: "burst", allowed: true, limit: 9, remaining: 3 }, earlier: true }, { outcome: denied }], passes_at: "2026-03-01T12:00:10Z" };
  assert.equal(headline(r), "429: denied by the limit items");
  assert.equal(passes(r, Date.parse("2026-03-01T12:00:00Z")), "The same request passes in 10s, unless others spend meanwhile.");
  assert.match(passes(r, Date.parse("2026-03-01T12:00:20Z")), /passes now, since 10s ago/);
  assert.match(passes({ ...r, passes_at: undefined, limits: [{ outcome: { ...denied, never: true } }] }, 0), /never passes/);
  assert.deepEqual(r.limits.map((l) => verdict(l, r)[1]), ["allowed", "denied"]);
  assert.equal(decided(r), "the cluster, node a:7700");
});

test("an exchange says what was held and charged", () => {
  const hold = { counts: "tokens", key: "customer:test", limits: ["tokens"], asked: 74, granted: 60, charged: 58, returned: 2, state: "settled" };
  const said = Object.fromEntries(exchange({ model: "m", stream: true, estimated_input: 24, estimated_output: 50, lowered_output: 36, basis: "usage", used: { input: 8, output: 50, cached: 2 }, holds: [hold] }));
  assert.equal(said.estimate, "24 tokens of input and 50 of output");
  assert.equal(said.used, "8 tokens of input and 50 of output (2 from a cache)");
  assert.equal(said.hold, "tokens of customer:test: 60 of 74 held, 58 charged, 2 returned");
  assert.match(said.lowered, /at most 36 tokens/);
});

test("an id is found in what is pasted", () => {
  const want = { id: "edge-1-4f-k7wq2m5ttzrcx3ha", gateway: "edge-1" };
  for (const text of [want.id, `urn:jeton:denial:${want.id}`, `{"status":429,"instance":"urn:jeton:denial:${want.id}"}`, ` ${want.id}\n`]) assert.deepEqual(findID(text), want);
  for (const text of ["", "429", "edge-1-4f-k7wq2m5ttzrcx3h1", "edge-1-4f-k7wq2m5ttzrcx3haa"]) assert.equal(findID(text), null, text);
  assert.equal(gatewayName("Edge_1"), "edge-1");
});

test("arcs are rings' pieces", () => {
  for (const [from, to] of [[0, 1], [0, 0.0001], [0.3, 0.9]]) assert.match(arc(from, to, 100, 78), /^M[-0-9. AL]+Z$/);
});
