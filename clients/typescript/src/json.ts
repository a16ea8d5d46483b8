import { AllDecision, Decision, type Outcome, type Receipt } from "./decision.js";
import { Hold, type Settled, type SettledLimit, type Settler } from "./hold.js";

// The answers of the API. Each function returns undefined for an answer that is not what was asked for.

type Members = Record<string, unknown>;

const isObject = (v: unknown): v is Members => typeof v === "object" && v !== null && !Array.isArray(v);
const number = (v: unknown): number => (typeof v === "number" ? v : 0);
const seconds = (ms: unknown): number => number(ms) / 1000;
const text = (v: unknown): v is string => typeof v === "string";

function outcome(o: Members): Outcome {
  return {
    name: String(o["name"]),
    ...(text(o["plan"]) && { plan: o["plan"] }),
    ...(text(o["override"]) && { override: o["override"] }),
    allowed: o["allowed"] === true,
    never: o["never"] === true,
    closed: o["closed"] === true,
    ended: o["ended"] === true,
    limit: number(o["limit"]),
    remaining: number(o["remaining"]),
    leased: number(o["leased"]),
    retryAfter: seconds(o["retry_after_ms"]),
    resetAfter: seconds(o["reset_after_ms"]),
  };
}

export function decision(json: unknown, by: Settler): Decision | undefined {
  if (!isObject(json) || typeof json["allowed"] !== "boolean" || !Array.isArray(json["limits"]) || !json["limits"].every(isObject)) {
    return undefined;
  }
  const { allowed, hold } = json;
  return new Decision(
    allowed,
    json["limits"].map(outcome),
    "cluster",
    seconds(json["wait_ms"]),
    Array.isArray(json["receipts"]) ? (json["receipts"] as Receipt[]) : [],
    text(hold) ? new Hold(by, hold, number(json["granted"])) : undefined,
  );
}

export function allDecision(json: unknown, by: Settler): AllDecision | undefined {
  if (!isObject(json) || typeof json["allowed"] !== "boolean" || !Array.isArray(json["checks"])) return undefined;
  const checks = json["checks"].map((c) => (c === null ? null : decision(c, by)));
  if (checks.includes(undefined)) return undefined;
  const denied = json["denied"];
  return new AllDecision(
    json["allowed"],
    checks as (Decision | null)[],
    "cluster",
    seconds(json["wait_ms"]),
    isObject(denied) ? { check: number(denied["check"]), key: String(denied["key"]), limit: String(denied["limit"]) } : undefined,
  );
}

const amounts = (o: Members) => ({
  charged: number(o["charged"]),
  returned: number(o["returned"]),
  debt: number(o["debt"]),
  ...(text(o["until_ns"]) && { untilNs: o["until_ns"] }),
});

export function settled(json: unknown): Settled | undefined {
  if (!isObject(json) || typeof json["charged"] !== "number" || !Array.isArray(json["limits"]) || !json["limits"].every(isObject)) {
    return undefined;
  }
  const limits = json["limits"].map((l) => ({ name: String(l["name"]), state: l["state"] as SettledLimit["state"], ...amounts(l) }));
  return { ...amounts(json), limits };
}

export function returned(json: unknown): boolean[] | undefined {
  return isObject(json) && Array.isArray(json["returned"]) ? json["returned"].map((r) => r === true) : undefined;
}

export function limits(json: unknown): Record<string, Members> | undefined {
  return isObject(json) && isObject(json["limits"]) ? (json["limits"] as Record<string, Members>) : undefined;
}
