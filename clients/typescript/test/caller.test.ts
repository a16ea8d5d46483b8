import assert from "node:assert/strict";
import type { Server } from "node:net";
import { createServer } from "node:net";
import { test, type TestContext } from "node:test";

import { Client, JetonError, Unavailable, type ClientOptions } from "../src/index.js";
import { allowed, fake, json, nothing, problem } from "./server.js";

Math.random = () => 0; // every client of this file begins at its first address

/** So many seconds only a call takes that has no end, on whatever machine. */
const endless = 20;

/** An address that takes connections and never answers. */
async function silent(t: TestContext): Promise<string> {
  const server: Server = createServer((socket) => void socket.on("error", () => {}));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const sockets = new Set<{ destroy(): void }>();
  server.on("connection", (s) => sockets.add(s));
  t.after(() => {
    for (const s of sockets) s.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

async function timed<T>(work: Promise<T>): Promise<[outcome: T | Error, seconds: number]> {
  const began = performance.now();
  const outcome = await work.catch((err: Error) => err);
  return [outcome, (performance.now() - began) / 1000];
}

test("a server that never answers: the policy decides when the time is over", async (t) => {
  const addresses = [await silent(t), await silent(t)];
  const client = new Client({ addresses, timeout: 0.3 });
  const [err, seconds] = await timed(client.check("k", "demo"));
  assert.ok(err instanceof Unavailable && err instanceof JetonError);
  assert.ok(seconds >= 0.28 && seconds < endless, `${seconds}`);
  assert.deepEqual(new Set(err.attempts.map((a) => a.address)), new Set(addresses));
  assert.match(err.message, /^no usable answer after \d+\.\d+ s: http:\/\/127\.0\.0\.1:\d+: no answer in time; http/);
  assert.deepEqual([err.status, err.type], [503, "urn:jeton:problem:unavailable"]);

  const allow = await client.check("k", "demo", { onUnavailable: "allow" });
  assert.deepEqual([allow.allowed, allow.failedOpen, allow.decidedBy, allow.retryAfter, allow.remaining], [true, true, "allow", 0, undefined]);
  const deny = await client.hold("k", "demo", { for: 60, onUnavailable: "deny" });
  assert.deepEqual([deny.allowed, deny.failedOpen, deny.decidedBy, deny.retryAfter, deny.hold], [false, false, "deny", 1, undefined]);
  const all = await client.checkAll([{ key: "k", limits: "demo" }], { onUnavailable: "allow" });
  assert.deepEqual([all.allowed, all.failedOpen, all.checks], [true, true, []]);
  const [looked] = await timed(new Client({ addresses, timeout: 0.1, onUnavailable: "allow" }).look("k", "demo"));
  assert.ok(looked instanceof Unavailable, "a look is no decision that a policy could make");
});

test("an answer that never ends is late, too", async (t) => {
  const drip = await fake(t, (_, res) => {
    res.writeHead(200);
    const timer = setInterval(() => res.write(" "), 20);
    res.on("close", () => clearInterval(timer));
  });
  const [err, seconds] = await timed(new Client({ addresses: drip.url, timeout: 0.3 }).check("k", "demo"));
  assert.ok(err instanceof Unavailable && seconds < endless, `${String(err)} after ${seconds}`);
});

test("a silent address costs its share of the time, and the next one gets the same request id", async (t) => {
  const quiet = await fake(t, () => {});
  const good = await fake(t, (_, res) => json(res, 200, allowed));
  const client = new Client({ addresses: [quiet.url, good.url], timeout: 12 });
  const [d, seconds] = await timed(client.check("k", "demo"));
  assert.ok(!(d instanceof Error) && d.allowed, String(d));
  assert.ok(seconds >= 5, `${seconds}`); // and below the timeout, or there was no answer
  assert.equal(quiet.asked.length, 1);
  assert.match(String(quiet.asked[0]?.body["request_id"]), /^[0-9a-f]{32}$/);
  assert.deepEqual(quiet.asked[0]?.body, good.asked[0]?.body);
  await client.check("k", "demo");
  assert.equal(quiet.asked.length, 1, "the next call begins at the address that answered");
  assert.notEqual(good.asked[1]?.body["request_id"], good.asked[0]?.body["request_id"]);
});

test("connections refused, broken connections, 502, 503, 504 and what is not the API's go to the next address", async (t) => {
  const html = (status: number) => fake(t, (_, res) => res.writeHead(status, { "content-type": "text/html" }).end("<html>"));
  const bad = [
    await nothing(),
    "http://no-such-host.invalid:7702",
    (await fake(t, (_, res) => void res.socket?.destroy())).url,
    (await fake(t, (_, res) => json(res, 503, problem(503, "unavailable")))).url,
    (await fake(t, (_, res) => json(res, 200, { hello: "world" }))).url,
    (await fake(t, (_, res) => json(res, 200, { allowed: "yes", limits: [] }))).url,
    (await fake(t, (_, res) => res.end('"a text"'))).url,
    (await fake(t, (_, res) => res.end("null"))).url,
    (await fake(t, (_, res) => res.end("x".repeat((1 << 20) + 1)))).url,
    (await html(429)).url, (await html(502)).url, (await html(504)).url,
  ];
  const good = await fake(t, (_, res) => json(res, 200, allowed));
  for (const address of bad) {
    const d = await new Client({ addresses: [address, good.url], timeout: 30 }).check("k", "demo");
    assert.equal(d.allowed, true);
  }
  assert.equal(good.asked.length, bad.length);
  const [err] = await timed(new Client({ addresses: bad, timeout: 60 }).check("k", "demo"));
  assert.ok(err instanceof Unavailable, String(err));
  assert.equal(err.attempts.length, 3 * bad.length);
  assert.match(err.message, /ECONNREFUSED.*ENOTFOUND|getaddrinfo/);
  assert.match(err.message, /answered 503: detail of unavailable/);
  assert.match(err.message, /answered 200 with more than 1048576 bytes/);
  assert.match(err.message, /answered 502/);
});

const ports = "name the HTTP port of a node, 7702 unless said, or the admin port of a gateway, 7781 unless said";

test("an address that is not that of the API is told, and what to name", async (t) => {
  const other = await fake(t, (_, res) => res.end("hello"));
  const broken = await fake(t, (_, res) => void res.socket?.destroy());
  const missing = await fake(t, (_, res) => res.writeHead(404).end("<html>"));
  const grpc = createServer((socket) => void socket.on("error", () => {}).end(Buffer.from([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 5, 0, 0, 64, 0])));
  await new Promise<void>((listening) => grpc.listen(0, "127.0.0.1", listening));
  t.after(() => grpc.close());
  const cases: [address: string, says: string][] = [
    [broken.url, `closed the connection without an answer; if it always does, ${ports}`],
    [other.url, `answered 200, and not as jeton's API does: ${ports}`],
    [missing.url, `answered 404, and not as jeton's API does: ${ports}`],
    [`http://127.0.0.1:${(grpc.address() as { port: number }).port}`, `answered, and not in HTTP/1.1: ${ports}`],
    [other.url.replace("http:", "https:"), `answered, and not in TLS: write http:// for a port without it, and ${ports}`],
  ];
  for (const [addresses, says] of cases) {
    const [err] = await timed(new Client({ addresses, timeout: 30 }).check("k", "demo"));
    assert.ok(err instanceof JetonError, String(err));
    assert.ok(err.message.includes(addresses) && err.message.endsWith(says), err.message);
    assert.doesNotMatch(err.message, /no answer/);
  }
});

test("onFailure is called each time that a policy decides, and with nothing else", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const other = await fake(t, (_, res) => res.end("hello"));
  const told: Error[] = [];
  const client = new Client({ addresses: other.url, timeout: 30, onUnavailable: "allow", onFailure: (err) => told.push(err) });
  await client.check("k", "demo");
  await client.hold("k", "demo", { for: 60, onUnavailable: "deny" });
  await client.checkAll([{ key: "k", limits: "demo" }]);
  assert.equal(told.length, 3);
  assert.ok(told.every((err) => err instanceof Unavailable && err.message.includes(other.url)));
  await assert.rejects(client.check("k", "demo", { onUnavailable: "error" }), Unavailable);
  await assert.rejects(client.look("k", "demo"), Unavailable);
  assert.deepEqual([told.length, warned.mock.callCount()], [3, 0]);
});

test("without onFailure a client warns, once a minute at most", async (t) => {
  const warned = t.mock.method(console, "warn", () => {});
  const now = performance.now.bind(performance);
  let later = 0;
  t.mock.method(performance, "now", () => now() + later);
  const client = new Client({ addresses: await nothing(), timeout: 30, onUnavailable: "allow" });
  for (const [wait, count] of [[0, 1], [0, 1], [40_000, 1], [40_000, 2]] as const) {
    later += wait;
    assert.equal((await client.check("k", "demo")).allowed, true);
    assert.equal(warned.mock.callCount(), count);
  }
  assert.match(String(warned.mock.calls[0]!.arguments[0]), /^jeton: onUnavailable decides in place of the cluster: no usable answer after .*ECONNREFUSED/);
});

test("a 503 is repeated at a single address, with the same request id", async (t) => {
  const node = await fake(t, (_, res, n) => (n < 3 ? json(res, 503, problem(503, "overloaded")) : json(res, 200, allowed)));
  await new Client({ addresses: node.url, timeout: 30 }).check("k", "demo");
  assert.equal(node.asked.length, 3);
  assert.equal(new Set(node.asked.map((a) => a.body["request_id"])).size, 1);
});

test("checkAll is repeated only where nothing can have been decided", async (t) => {
  const answer = { allowed: true, checks: [allowed] };
  const good = await fake(t, (_, res) => json(res, 200, answer));
  const ask = (first: string) => new Client({ addresses: [first, good.url], timeout: 30 }).checkAll([{ key: "k", limits: "demo" }]);
  const full = await fake(t, (_, res) => json(res, 503, problem(503, "unavailable")));
  assert.equal((await ask(full.url)).allowed, true);
  assert.equal((await ask(await nothing())).allowed, true);
  assert.equal(good.asked.length, 2);
  assert.equal("request_id" in good.asked[0]!.body, false);
  const broken = await fake(t, (_, res) => void res.socket?.destroy());
  await assert.rejects(ask(broken.url), Unavailable);
  assert.equal(good.asked.length, 2);
});

test("an error of the API is thrown at once, whatever onUnavailable says", async (t) => {
  for (const status of [400, 401, 403, 404, 405, 413, 500]) {
    const node = await fake(t, (_, res) => json(res, status, { ...problem(status, "some"), field: "key" }));
    const err = await new Client({ addresses: node.url, timeout: 30, onUnavailable: "allow" }).check("k", "demo").catch((e: unknown) => e);
    assert.ok(err instanceof JetonError && !(err instanceof Unavailable), String(err));
    assert.deepEqual([err.status, err.type, err.title, err.detail, err.message, err.field, err.address, node.asked.length], [
      status, "urn:jeton:problem:some", "A title", "detail of some", "detail of some", "key", node.url, 1,
    ]);
  }
});

test("redirects are not followed: the token would go along", async (t) => {
  const elsewhere = await fake(t, (_, res) => json(res, 200, allowed));
  const node = await fake(t, (_, res) => res.writeHead(307, { location: elsewhere.url }).end());
  const client = new Client({ addresses: node.url, timeout: 30, token: "secret" });
  await assert.rejects(client.check("k", "demo"), (err) => err instanceof JetonError && err.status === 307 && /redirects are not followed/.test(err.message));
  assert.equal(elsewhere.asked.length, 0);
});

test("the token is sent, and asked for before each call", async (t) => {
  const node = await fake(t, (_, res) => json(res, 200, allowed));
  let n = 0;
  const client = new Client({ addresses: node.url, timeout: 30, token: async () => `token-${++n}\n` });
  await client.check("k", "demo");
  await client.look("k", "demo");
  await new Client({ addresses: node.url, timeout: 30, token: "fixed" }).check("k", "demo");
  await new Client({ addresses: node.url, timeout: 30 }).check("k", "demo");
  assert.deepEqual(node.asked.map((a) => a.headers.authorization), ["Bearer token-1", "Bearer token-2", "Bearer fixed", undefined]);
  await new Client({ addresses: node.url, timeout: 30, token: "fixed\n" }).check("k", "demo");
  assert.equal(node.asked[4]?.headers.authorization, "Bearer fixed");
  for (const token of ["", "\n", "a\nsecret", "sécret"]) {
    const hidden = (err: unknown) => err instanceof Error && /token: it is empty, or has char/.test(err.message) && !/secret|sécret/.test(err.message);
    assert.throws(() => new Client({ addresses: node.url, token }), (err) => err instanceof TypeError && hidden(err));
    await assert.rejects(new Client({ addresses: node.url, timeout: 30, token: () => token }).check("k", "demo"), (err) => err instanceof Unavailable && hidden(err));
  }
  const failing = new Client({ addresses: node.url, token: () => Promise.reject(new Error("no metadata")), onUnavailable: "deny" });
  assert.equal((await failing.check("k", "demo")).decidedBy, "deny");
  const [late, seconds] = await timed(new Client({ addresses: node.url, timeout: 0.2, token: () => new Promise(() => {}) }).check("k", "demo"));
  assert.ok(late instanceof Unavailable && seconds < endless, `${String(late)} after ${seconds}`);
});

test("the caller's signal ends a call with its own reason, whatever onUnavailable says", async (t) => {
  const client = new Client({ addresses: await silent(t), timeout: 60, onUnavailable: "allow" });
  const reason = new Error("the user has left");
  await assert.rejects(client.check("k", "demo", { signal: AbortSignal.abort(reason) }), reason);
  const ends = new AbortController();
  setTimeout(() => ends.abort(reason), 50);
  const [err, seconds] = await timed(client.check("k", "demo", { signal: ends.signal }));
  assert.equal(err, reason);
  assert.ok(seconds < endless, `${seconds}`);
});

test("a client is refused that could not ask", () => {
  const wrong: [options: unknown, says: RegExp][] = [
    [{}, /addresses: name at least one/],
    ["http://a", /options: name addresses/],
    [undefined, /options: name addresses/],
    [{ addresses: [] }, /addresses: name at least one/],
    [{ addresses: 7 }, /addresses: name at least one/],
    [{ addresses: ["a:7702"] }, /addresses: "a:7702" is not the base URL/],
    [{ addresses: ["http://a", "localhost"] }, /addresses: "localhost" is not/],
    [{ addresses: "ftp://a" }, /"ftp:\/\/a" is not/],
    [{ addresses: "http://user:secret@a" }, /is not the base URL/],
    [{ addresses: "http://a?x=1" }, /is not the base URL/],
    [{ addresses: "http://a", timeout: 0 }, /timeout: 0 is not/],
    [{ addresses: "http://a", timeout: NaN }, /timeout: NaN is not/],
    [{ addresses: "http://a", timeout: "1" }, /timeout: 1 is not|timeout/],
    [{ addresses: "http://a", fetch: 7 }, /fetch: is not a function/],
    [{ addresses: "http://a", on_unavailable: "allow" }, /on_unavailable: is not an option; did you mean onUnavailable\?/],
    [{ adresses: "http://a" }, /adresses: is not an option; did you mean addresses\?/],
    [{ addresses: "http://a", retries: 7 }, /retries: is not an option; there are addresses, token, timeout, onUnavailable, onFailure, fetch/],
    [{ addresses: "http://a", onFailure: "log" }, /onFailure: is not a function/],
    [{ addresses: "http://a", onUnavailable: "open" }, /onUnavailable: open is not/],
  ];
  for (const [options, says] of wrong) assert.throws(() => new Client(options as ClientOptions), (err) => err instanceof TypeError && says.test(err.message) && !/secret/.test(err.message), JSON.stringify(options));
});

test("a path before the API's is kept", async (t) => {
  const node = await fake(t, (_, res) => json(res, 200, allowed));
  await new Client({ addresses: `${node.url}/behind/a/proxy/`, timeout: 30 }).check("k", "demo");
  assert.equal(node.asked[0]?.path, "/behind/a/proxy/v1/check");
});

test("the nearest outcome is the one that RateLimit shows", async (t) => {
  const outcome = (name: string, remaining: number, retry = 0, never = false) => ({ name, allowed: retry === 0 && !never, never, limit: 10, remaining, retry_after_ms: retry, reset_after_ms: 0 });
  for (const [outcomes, nearest, retryAfter] of [
    [[outcome("a", 5), outcome("b", 3), outcome("c", 3)], "b", 0],
    [[outcome("a", 0), outcome("b", 7, 1500), outcome("c", 9, 2500)], "c", 2.5],
    [[outcome("a", 0, 900), outcome("b", 7, 0, true)], "b", undefined],
    [[outcome("a", 4, 1200), outcome("b", 2, 1900)], "b", 1.9],
  ] as const) {
    const denied = outcomes.some((o) => !o.allowed);
    const node = await fake(t, (_, res) => json(res, denied ? 429 : 200, { allowed: !denied, limits: outcomes }));
    const d = await new Client({ addresses: node.url, timeout: 30 }).check("k", "demo");
    assert.deepEqual([d.nearest?.name, d.retryAfter], [nearest, retryAfter]);
  }
});
