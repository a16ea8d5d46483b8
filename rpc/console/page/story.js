// The story of a request that was refused, or of an exchange with a language model, in words. Pure.
import { duration, list, plural, whole } from "./format.js";
import { numbers, outcome } from "./words.js";

const REASONS = {
  admitted: "it passed",
  unlimited: "it passed",
  fail_open: "it passed without a decision",
  bad_request: "the request is malformed",
  denied: "denied by a limit",
  unavailable: "there was no decision, and the policy is to deny",
  forbidden: "the client is on a deny list",
  unidentified: "no credentials identify the client",
  bad_credentials: "the token or API key is invalid",
  upstream_failed: "it passed, and the upstream cannot be reached or its answer not be read",
  upstream_timeout: "it passed, and the upstream did not answer in time",
};

const passed = (r) => ["admitted", "fail_open", "unlimited"].includes(r.reason);

// headline is the whole in one sentence.
export function headline(r) {
  const why = REASONS[r.reason] ?? r.reason;
  if (r.exchange && !r.status) return `Not answered yet: ${why}`;
  const by = denying(r).map((l) => l.outcome.name);
  return `${r.status}: ${by.length ? `denied by ${by.length > 1 ? "the limits" : "the limit"} ${list(by)}` : why}`;
}

// denying are the limits that denied.
export const denying = (r) => (r.reason === "denied" ? r.limits.filter((l) => !l.outcome.allowed || l.outcome.never) : []);

// passes says from when on the same request passes.
export function passes(r, now) {
  if (!r.limits.length || passed(r)) return "";
  if (!r.passes_at) return r.limits.some((l) => l.outcome.never) ? "It never passes: lower the cost, or raise the capacity." : "From when on it passes is not known.";
  const ms = Date.parse(r.passes_at) - now;
  const then = r.wait_ms ? `, and is then held for up to ${duration(r.wait_ms * 1e6)}` : "";
  if (ms > 0) return `The same request passes in ${duration(ms * 1e6)}${then}, unless others spend meanwhile.`;
  return `The same request passes now, since ${duration(-ms * 1e6)} ago${then}, unless others have spent meanwhile.`;
}

// verdict is what a limit said.
export function verdict(l, r) {
  const o = l.outcome;
  const left = `${whole(o.remaining)} of ${whole(o.limit)} left`;
  if (!o.allowed || o.never) return ["critical", "denied", outcome(o)];
  if (l.earlier) return ["notice", "allowed", `${left} then; what it took was given back`];
  if (o.remaining < r.cost && r.wait_ms) return ["good", "would allow", `after a wait; ${left}`];
  return ["good", "would allow", left];
}

// rule is what a limit was, in words.
export function rule(l) {
  const by = l.outcome.override ? `by the override ${l.outcome.override}: ` : l.outcome.plan ? `plan ${l.outcome.plan}: ` : "";
  return by + (l.rule ? numbers(l.rule) : `capacity ${whole(l.outcome.limit)}`);
}

// decided is what decided.
export function decided(r) {
  switch (r.source) {
    case "cluster":
      return `the cluster${r.node ? `, node ${r.node}` : ""}${r.undecided ? ", all but what is undecided" : ""}`;
    case "edge":
      return "the gateway itself, by what it holds or has heard of these limits";
    case "known":
      return `the gateway, by a denial of the cluster that still held${r.known_since ? `, known since ${r.known_since.slice(11, 23)} UTC` : ""}${r.node ? `, of node ${r.node}` : ""}`;
    case "allow":
      return "the gateway: the cluster did not decide, and on_unavailable is allow";
    case "local":
      return "the gateway's own bucket, as the cluster did not";
    case "deny":
      return "the gateway: neither the cluster nor a local bucket decided";
  }
  return r.source ?? "";
}

const UNITS = { money: "millionths", input: "tokens of input", output: "tokens of output", tokens: "tokens" };

// amount is a cost with its unit.
export const amount = (n, counts) => `${whole(n)}${UNITS[counts] ? ` ${UNITS[counts]}` : ""}${counts === "money" ? " of the unit of the prices" : ""}`;

// exchange is what is known of a request to a language model, as names and texts.
export function exchange(e) {
  const out = [["asks for", `${e.stream ? "a stream" : "an answer"}${e.model ? ` of ${e.model}` : ""}`]];
  out.push(["estimate", `${plural(e.estimated_input ?? 0, "token")} of input and ${whole(e.estimated_output ?? 0)} of output`]);
  if (e.lowered_output) out.push(["lowered", `to at most ${plural(e.lowered_output, "token")} of output: less was left than the estimate`]);
  if (e.answered_model) out.push(["model", `${e.answered_model} has answered`]);
  if (e.used) {
    const kinds = [e.used.cached && `${whole(e.used.cached)} from a cache`, e.used.cache_write && `${whole(e.used.cache_write)} written to one`, e.used.reasoning && `${whole(e.used.reasoning)} of reasoning`].filter(Boolean);
    out.push(["used", `${plural(e.used.input ?? 0, "token")} of input and ${whole(e.used.output ?? 0)} of output${kinds.length ? ` (${list(kinds)})` : ""}`]);
    out.push(["charged by", basis(e)]);
  }
  for (const hold of e.holds ?? []) out.push(["hold", held(hold)]);
  return out;
}

const BASES = {
  none: "nothing: the model gave no answer, and all comes back",
  usage: "the usage in the answer",
  events: "the text and the events of the stream: it had no usage, or ended before that",
  estimate: "the estimate: what was used is not known",
};

// basis is what a charge goes by.
function basis(e) {
  if (e.basis === "usage" && e.understated) return "the usage in the answer, which tells fewer tokens than there were events with output";
  if (e.basis === "estimate" && e.unread) return `the estimate: the usage of the answer is not known: ${e.unread}`;
  return BASES[e.basis] ?? e.basis;
}

function held(x) {
  const of = x.granted < x.asked ? ` of ${whole(x.asked)}` : "";
  const became = {
    open: "while the answer goes on",
    settled: `${whole(x.charged ?? 0)} charged, ${whole(x.returned ?? 0)} returned`,
    lost: `${whole(x.charged ?? 0)} charged, in full: the node that took the hold is gone`,
    unknown: "not settled: the limit does not know the hold any more",
  }[x.state] ?? "not settled: it expires, and is charged or freed as the limit says";
  return `${list(x.limits ?? [])} of ${x.key}: ${whole(x.granted)}${of} held, ${became}${x.debt ? `; ${whole(x.debt)} in debt` : ""}${x.why ? ` (${x.why})` : ""}`;
}

// An id is the name of its gateway, a number, and 80 bits: edge-1-4f-k7wq2m5ttzrcx3ha.
const ID = /([a-z0-9][a-z0-9-]{0,31})-([0-9a-z]{1,13})-([a-z2-7]{16})(?![a-z0-9-])/;

// findID finds an id in what was pasted: the id, the instance of a problem, or the whole body of an answer.
export function findID(text) {
  const found = ID.exec(text.replace("urn:jeton:denial:", " "));
  return found ? { id: found[0], gateway: found[1] } : null;
}

// gatewayName is the name of a gateway as its ids have it.
export function gatewayName(name) {
  return (name || "gateway").slice(0, 32).toLowerCase().replace(/[^a-z0-9]/g, "-");
}
