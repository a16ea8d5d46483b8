// What limits say, in words.
import { duration, parseDuration, whole } from "./format.js";

// count is how many tokens a limit has: its capacity or its limit.
export const count = (l) => l.capacity ?? l.limit ?? 0;

// every is a duration behind "each": second, 5 minutes.
function every(text) {
  const ns = parseDuration(text);
  const units = [["day", 86400e9], ["hour", 3600e9], ["minute", 60e9], ["second", 1e9], ["millisecond", 1e6]];
  const [name, unit] = units.find(([, unit]) => ns >= unit && ns % unit === 0) ?? [];
  if (!name) return Number.isFinite(ns) ? duration(ns) : text;
  return ns === unit ? name : `${whole(ns / unit)} ${name}s`;
}

// refill is a refill such as 5/s or 100/1m in words.
function refill(text) {
  const [, n, per] = /^([0-9]+)\/(.+)$/.exec(text ?? "") ?? [];
  return n ? `${whole(Number(n))} ${n === "1" ? "comes" : "come"} back each ${every(per)}` : String(text);
}

// numbers are those of a limit, or of a plan or an override of it, in words.
export function numbers(l) {
  const n = whole(count(l));
  switch (l.algorithm ?? "token-bucket") {
    case "token-bucket":
      return `${n} at once, then ${refill(l.refill)}`;
    case "fixed-window":
      if (l.window) return `${n} in each ${every(l.window)}`;
      return `${n} in each ${l.per}${zone(l)}`;
    case "sliding-window":
      return `${n} in any ${every(l.window)}${l.weighted ? ", estimated from two windows" : ""}`;
    case "sliding-log":
      return `${n} in any ${every(l.window)}, to the nanosecond`;
    case "concurrency":
      return `${n} inside at once; one that does not come back is forgotten after ${l.lease}`;
  }
  return `${l.algorithm}: ${n}`;
}

// FIRST are anchors that say nothing: windows begin there without one.
const FIRST = ["0", "1", "monday", "01-01"];

function zone(l) {
  const begin = { day: `from ${l.anchor}:00`, month: `from day ${l.anchor}` }[l.per] ?? `from ${l.anchor}`;
  const parts = [l.timezone, l.anchor && !FIRST.includes(l.anchor) && begin].filter(Boolean);
  return parts.length ? ` (${parts.join(", ")})` : "";
}

const DECIDES = {
  leased: "Gateways and clients take tokens ahead and decide by themselves, never over the limit.",
  eventual: "Gateways and clients decide by what they last heard, and report what they admitted.",
  local: "Each gateway and client decides by a bucket of its own.",
};

const WITHOUT = {
  allow: "Without a decision, gateways let requests pass.",
  deny: "Without a decision, gateways deny.",
  local: "Without a decision, gateways decide by a bucket of their own.",
};

// details are sentences about the other fields of a limit.
export function details(l) {
  const out = [DECIDES[l.consistency] ?? "The key's owner decides every check."];
  if (l.hot === "lease") out.push("While a key is hot, gateways and clients take tokens of it ahead.");
  if (l.wait) out.push(`A check may wait up to ${l.wait}.`);
  if (l.hold) out.push(`Tokens can be held for up to ${l.hold}${l.on_expiry === "free" ? "; a hold that is not settled is freed" : "; a hold that is not settled is charged"}.`);
  if (l.max_debt !== undefined) out.push(`Settlements may charge up to ${whole(l.max_debt)} beyond what is there.`);
  if (l.penalty_after) out.push(`After ${whole(l.penalty_after)} denials in a row a bucket is closed for ${l.penalty_for}, at most ${l.penalty_max}.`);
  if (l.reserve) out.push(`What an owner takes ahead: ${l.reserve}.`);
  out.push(WITHOUT[l.on_unavailable ?? "allow"]);
  return out;
}

// variant is what a plan or an override changes, in words.
export function variant(base, v) {
  if (v.deny) return "denies every check";
  if (v.allow) return "lets every check pass, uncounted";
  return numbers({ ...base, ...v });
}

// says is what a live override says, in words: deny, allow, or fields with values.
export function says(text) {
  return { deny: "denies every check", allow: "lets every check pass, uncounted" }[text] ?? text;
}

// outcome is what one limit of a decision said, in words.
export function outcome(o) {
  const left = `${whole(o.remaining)} of ${whole(o.limit)} left`;
  const leased = o.leased ? `, and at most ${whole(o.leased)} at gateways and clients` : "";
  if (o.ended) return "the permit has ended; only a new check can enter";
  if (o.never) return `${left}; the cost is above the capacity and can never pass`;
  if (o.closed) return `closed by a penalty for denials in a row; try again in ${duration(o.retry_after_ms * 1e6)}`;
  if (!o.allowed) return `${left}${leased}; try again in ${duration(o.retry_after_ms * 1e6)}`;
  return left + leased + (o.reset_after_ms ? `; full again in ${duration(o.reset_after_ms * 1e6)}` : "");
}
