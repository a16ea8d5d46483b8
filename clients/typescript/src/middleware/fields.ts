import type { Decision, Outcome } from "../decision.js";
import type { Known, Pace } from "./known.js";

// What clients see: docs/headers.md. A gateway writes the same.

/** The largest integer of a structured field: RFC 9651. */
const largest = 999_999_999_999_999;

const integer = (n: number) => Math.min(Math.max(Math.trunc(n), 0), largest);
const whole = (seconds: number) => integer(Math.max(Math.ceil(seconds), 1));

/** The fields RateLimit and RateLimit-Policy of a decision; none where no limit was asked. */
export function limitFields(decision: Decision, known: Known): Record<string, string> {
  const { nearest } = decision;
  if (!nearest) return {};
  const paces = new Map(decision.limits.map((o) => [o, known.pace(o)]));
  return {
    RateLimit: `"${nearest.name}";r=${integer(nearest.remaining)}${parameter("t", paces.get(nearest)?.window)}`,
    "RateLimit-Policy": decision.limits.map((o) => policy(o, paces.get(o))).join(", "),
  };
}

function policy(o: Outcome, pace: Pace | undefined): string {
  return `"${o.name}";q=${integer(o.limit)}${parameter("w", pace?.fill)}`;
}

function parameter(name: string, seconds: number | undefined): string {
  return seconds === undefined ? "" : `;${name}=${whole(seconds)}`;
}

/** The whole answer to a request that does not pass. */
export interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: string;
}

const registered = "https://iana.org/assignments/http-problem-types#";

/** The answer to a denied request: 429, or 503 where no limit was asked. */
export function refusal(decision: Decision, fields: Record<string, string>): Refusal {
  const denying = decision.limits.filter((o) => !o.allowed);
  const undecided = decision.decidedBy !== "cluster";
  const problem = {
    type: registered + (undecided ? "temporary-reduced-capacity" : "quota-exceeded"),
    title: undecided
      ? "Request cannot be satisfied due to temporary server capacity constraints"
      : "Request cannot be satisfied as assigned quota has been exceeded",
    status: undecided ? 503 : 429,
    detail: undecided ? "rate limiter unavailable; retry later" : detail(denying),
    "violated-policies": denying.map((o) => o.name),
  };
  const { retryAfter } = decision;
  return {
    status: problem.status,
    headers: {
      "Cache-Control": "no-store",
      "Content-Type": "application/problem+json",
      ...fields,
      ...(retryAfter !== undefined && { "Retry-After": String(whole(retryAfter)) }),
      "X-Content-Type-Options": "nosniff",
    },
    body: `${JSON.stringify(problem)}\n`,
  };
}

/** Which limit denies, and when the request passes, for people. */
function detail(denying: readonly Outcome[]): string {
  const never = denying.find((o) => o.never);
  if (never) return `this request asks too much of the limit ${never.name}: the cost is above the capacity and can never pass`;
  const o = denying.reduce((worst, next) => (next.retryAfter > worst.retryAfter ? next : worst));
  const again = `try again in ${duration(o.retryAfter)}`;
  return `too many requests: the limit ${o.name} is ${o.closed ? "closed after denials in a row" : "exhausted"}; ${again}`;
}

/** A duration for people, rounded up: 1.5s, 12s, 5m, 2h30m, 4d3h. */
function duration(seconds: number): string {
  if (seconds < 10) return seconds < 1 ? `${Math.round(seconds * 1000)}ms` : `${seconds}s`;
  const rest = Math.ceil(seconds);
  const [h, m, s] = [Math.floor(rest / 3600), Math.floor((rest % 3600) / 60), rest % 60];
  if (h >= 96) {
    const hours = Math.ceil(rest / 3600);
    return `${Math.floor(hours / 24)}d${hours % 24 ? `${hours % 24}h` : ""}`;
  }
  return (h ? `${h}h` : "") + (m || (h && s) ? `${m}m` : "") + (s ? `${s}s` : "");
}
