import type { Client } from "../client.js";
import type { Outcome } from "../decision.js";

/** How often the limits are asked for at most, in milliseconds. */
const every = 60_000;

/** How long a bucket takes to fill, and over how long what remains is spread, in seconds. */
export interface Pace {
  fill: number;
  window: number;
}

/** The limits in force, which are read in the background: headers do without until they are known. */
export class Known {
  #limits: Record<string, Record<string, unknown>> = {};
  #asked = -Infinity;

  /** `stored` are the names of the limits that are not defined in the request itself. */
  constructor(
    private readonly client: Client,
    private readonly stored: readonly string[],
  ) {}

  /** The pace of the limit that decided; undefined where it is not known, or others than its own numbers decided. */
  pace(outcome: Outcome): Pace | undefined {
    if (!this.stored.includes(outcome.name)) return undefined;
    if (performance.now() - this.#asked > every) {
      this.#asked = performance.now();
      this.client.limits().then((limits) => (this.#limits = limits), () => {});
    }
    const limit = Object.hasOwn(this.#limits, outcome.name) ? this.#limits[outcome.name] : undefined;
    if (!limit || outcome.plan !== undefined || outcome.override !== undefined) return undefined;
    if ((limit["capacity"] ?? limit["limit"]) !== outcome.limit) return undefined;
    return paceOf(limit, outcome);
  }
}

/** As gateway/answer has it, by the algorithms of actor/limit. */
function paceOf(limit: Record<string, unknown>, { limit: capacity, remaining, resetAfter }: Outcome): Pace | undefined {
  const refill = /^(\d+)\/(.+)$/.exec(String(limit["refill"] ?? ""));
  if (refill) {
    const per = milliseconds(refill[2]!);
    if (!per) return undefined;
    const last = (tokens: number) => (tokens * per) / (Number(refill[1]) * 1000);
    return { fill: last(capacity), window: remaining > 0 ? last(remaining) : resetAfter + last(1) - last(capacity) };
  }
  const fill = milliseconds(String(limit["window"] ?? limit["lease"] ?? limit["per"] ?? "")) / 1000;
  return fill ? { fill, window: resetAfter || fill } : undefined;
}

const units: Record<string, number> = {
  ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, // a month lasts 31 days at most, a year 366
  day: 86_400_000, week: 7 * 86_400_000, month: 31 * 86_400_000, year: 366 * 86_400_000,
};

/** A duration of a limits document, such as 1.5s, h or 1h30m; 0 for what is none. */
function milliseconds(text: string): number {
  if (!/^(\d*\.?\d*[a-z]+)+$/.test(text)) return 0;
  let sum = 0;
  for (const [, n, unit] of text.matchAll(/(\d*\.?\d*)([a-z]+)/g)) sum += (n ? Number(n) : 1) * (units[unit!] ?? NaN);
  return sum > 0 ? sum : 0;
}
