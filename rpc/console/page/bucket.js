// What a bucket's JSON says, made ready to be drawn. Pure: positions become nanoseconds from the bucket's own now.
import { duration, plural, whole } from "./format.js";
import { count } from "./words.js";

// from is a position, a text of nanoseconds since the Unix epoch, as seen from now: the difference fits a number, the position does not.
export const from = (now, position) => (position === undefined || position === "0" ? null : Number(BigInt(position) - BigInt(now)));

// line is the drawing of a bucket that spends a line: from now to the last position that matters.
//
//	{to, pieces: [{kind, from, to}], marks: [{kind, at, text}]}
//
// Later pieces lie over earlier ones. Kinds: free, spent, returned, leased, skipped, reserved.
export function line(b) {
  if (!b.line) return null;
  const at = (position) => from(b.now_ns, position);
  const begin = at(b.line.start_ns), bound = at(b.line.end_ns), tat = at(b.tat_ns) ?? 0, credit = Number(b.credit_ns);
  const segments = [b.segment, b.next].filter((s) => s && s.end_ns !== s.start_ns).map((s) => ({ from: at(s.start_ns), to: at(s.end_ns) }));
  const leases = (b.leases ?? []).map((l) => ({ from: at(l.line.start_ns), to: at(l.line.end_ns) }));
  const to = Math.max(bound, tat, 1, ...segments.map((s) => s.to), ...leases.map((l) => l.to));
  const pieces = [
    { kind: "free", from: begin, to: bound },
    { kind: "spent", from: 0, to: tat },
    { kind: "returned", from: tat - credit, to: tat },
    ...leases.map((l) => ({ kind: "leased", ...l })),
    { kind: "skipped", from: 0, to: begin },
    ...segments.map((s) => ({ kind: "reserved", ...s })),
  ].map((p) => ({ ...p, from: Math.max(p.from, 0), to: Math.min(p.to, to) })).filter((p) => p.to > p.from);
  const marks = [];
  if (begin > 0) marks.push({ kind: "begin", at: begin, text: "can be spent from here" });
  if (tat > 0) marks.push({ kind: "tat", at: tat, text: "spent up to here" });
  if (to > bound) marks.push({ kind: "bound", at: bound, text: "can be spent up to here" });
  return { to, pieces, marks };
}

// steps are how much of a limit that counts entries is used from now on, if nothing more is admitted: [{at, used}], falling.
export function steps(b) {
  if (b.line) return null;
  const ends = (b.entries ?? []).map((e) => ({ at: Math.max(0, from(b.now_ns, e.until_ns) ?? 0), amount: e.amount })).sort((x, y) => x.at - y.at);
  let used = ends.reduce((sum, e) => sum + e.amount, 0);
  const out = [{ at: 0, used }];
  for (const e of ends) {
    used -= e.amount;
    if (out.at(-1).at === e.at) out.at(-1).used = used;
    else out.push({ at: e.at, used });
  }
  return out;
}

// condition is what the bucket answers to a check of one token now: its kind, a word, and why.
export function condition(b) {
  const passes = from(b.now_ns, b.passes_ns) ?? 0;
  const until = b.override_until ? `for ${duration((Date.parse(b.override_until) - Date.parse(b.now)) * 1e6)} more` : "until it is unset";
  if (b.verdict === "deny") return ["blocked", "Blocked", `an override denies every check, ${until}`];
  if (b.verdict === "allow") return ["open", "Passes", `an override lets every check pass, uncounted, ${until}`];
  if (b.closed_until) return ["denied", "Closed", `by a penalty for denials in a row, for ${duration(passes)} more`];
  if (passes <= 0) return ["allowed", "Allows", b.limit.algorithm === "concurrency" ? `${whole(b.tokens)} more may enter now` : `${plural(b.tokens, "token")} can be spent now`];
  return ["denied", "Denies", `one more passes in ${duration(passes)}`];
}

// share is how much of the capacity is not there, 0 to 1.
export function share(b) {
  const capacity = count(b.limit);
  return capacity > 0 ? Math.min(Math.max((capacity - b.tokens) / capacity, 0), 1) : 0;
}

// sentences say what is drawn.
export function sentences(b) {
  const at = (position) => from(b.now_ns, position);
  const capacity = count(b.limit);
  const out = [["left", `${whole(b.tokens)} of ${whole(capacity)}${b.tokens >= capacity ? ": full" : ""}`]];
  const passes = at(b.passes_ns) ?? 0, full = at(b.full_ns) ?? 0;
  out.push(["one more passes", passes <= 0 ? "now" : `in ${duration(passes)}`]);
  if (full > 0) out.push(["full", `in ${duration(full)}`]);
  if (b.line) {
    const begin = at(b.line.start_ns), tat = at(b.tat_ns) ?? 0;
    out.push(["spent", tat > begin ? `${duration(tat - begin)} of the line` : "nothing of the line"]);
    out.push(["can be spent", `${begin > 0 ? `from now + ${duration(begin)} ` : ""}up to now + ${duration(at(b.line.end_ns))}`]);
  } else {
    const entries = b.entries ?? [];
    out.push(["counts", entries.length ? `${plural(entries.length, "entry", "entries")}, ${whole(entries.reduce((sum, e) => sum + e.amount, 0))} in all` : "nothing that was admitted counts any more"]);
  }
  if (b.held) out.push(["entered ahead", `${whole(b.held)}, for the next checks`]);
  const reserved = reservedOf(b);
  if (reserved > 0) out.push(["reserved", `${duration(reserved)} of the line, in the owner's memory`]);
  if (Number(b.credit_ns) > 0) out.push(["returned", `${duration(Number(b.credit_ns))} of the line, spent again first`]);
  const leased = (b.leases ?? []).reduce((sum, l) => sum + l.tokens, 0);
  if (b.leases?.length) out.push(["leased", `at most ${plural(leased, "token")}, by ${plural(b.leases.length, "gateway or client", "gateways and clients")}`]);
  if (b.holds) out.push(["held", b.holds.open ? `${plural(b.holds.tokens, "token")} in ${plural(b.holds.open, "hold")}` : "nothing"]);
  if (b.debt) out.push(["debt", plural(b.debt, "token")]);
  if (b.denied_in_a_row) out.push(["denials in a row", whole(b.denied_in_a_row)]);
  if (b.begins_ns && passes > 0) out.push(["a check that waits", `begins in ${duration(Math.max(0, at(b.begins_ns)))}`]);
  return out;
}

// reservedOf is how much line the owner has in memory and has not spent, in nanoseconds.
function reservedOf(b) {
  let sum = 0;
  for (const s of [b.segment, b.next]) {
    const start = Math.max(from(b.now_ns, s?.start_ns) ?? 0, 0), end = from(b.now_ns, s?.end_ns) ?? 0;
    if (end > start) sum += end - start;
  }
  return sum;
}
