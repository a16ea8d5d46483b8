import type { Hold } from "./hold.js";

/** What decides where no node or gateway answers in time: "error" throws Unavailable. */
export type OnUnavailable = "allow" | "deny" | "error";

/** The decision of one limit. Durations are in seconds. */
export interface Outcome {
  readonly name: string;
  /** The plan or the override by whose numbers it was decided; neither where it was by those of the limit. */
  readonly plan?: string;
  readonly override?: string;
  /** This limit alone would have allowed it. */
  readonly allowed: boolean;
  /** No wait can help: the cost is above the capacity, or the permit has ended. */
  readonly never: boolean;
  /** A penalty has closed the bucket. */
  readonly closed: boolean;
  /** The permit that was to be extended has ended. */
  readonly ended: boolean;
  /** The capacity in tokens. */
  readonly limit: number;
  /** Whole tokens left after this decision. */
  readonly remaining: number;
  /** Tokens that gateways and clients hold at most, of those that do not remain. */
  readonly leased: number;
  /** After how long the same request passes this limit; 0 where it was allowed or never passes. */
  readonly retryAfter: number;
  /** After how long the bucket is full again. */
  readonly resetAfter: number;
}

/** What an admission has taken, by which it is given back. As the JSON has it: keep it as it is. */
export interface Receipt {
  readonly limit: string;
  readonly serial: string;
  readonly permit?: boolean;
  readonly [member: string]: unknown;
}

/** The answer to a check. */
export class Decision {
  constructor(
    /** Every limit allowed it. */
    readonly allowed: boolean,
    /** One for each limit, in the order of the request; none where the cluster did not decide. */
    readonly limits: readonly Outcome[],
    /** The cluster, or the policy that stands in for it: onUnavailable. */
    readonly decidedBy: "cluster" | "allow" | "deny",
    /** How long to wait before beginning, in seconds; 0 unless the check says how long it may wait. */
    readonly wait = 0,
    /** One for each limit, where the check asked for receipts and was allowed. */
    readonly receipts: readonly Receipt[] = [],
    /** Of a hold that was allowed. */
    readonly hold?: Hold,
  ) {}

  /** The cluster gave no decision, and onUnavailable is "allow". */
  get failedOpen(): boolean {
    return this.decidedBy === "allow";
  }

  /** The outcome nearest to exhaustion: one that denies before one that allows. Of several, the header RateLimit shows this one. */
  get nearest(): Outcome | undefined {
    return this.limits.reduce<Outcome | undefined>((best, o) => (best && !isNearer(o, best) ? best : o), undefined);
  }

  /** The capacity of `nearest`. */
  get limit(): number | undefined {
    return this.nearest?.limit;
  }

  /** The tokens that remain of `nearest`. */
  get remaining(): number | undefined {
    return this.nearest?.remaining;
  }

  /** After how many seconds `nearest` is full again. */
  get resetAfter(): number | undefined {
    return this.nearest?.resetAfter;
  }

  /** After how many seconds the same request passes; 0 where it was allowed, undefined where it never will. */
  get retryAfter(): number | undefined {
    if (this.allowed) return 0;
    if (this.decidedBy === "deny") return 1;
    if (this.limits.some((o) => o.never)) return undefined;
    return Math.max(0, ...this.limits.map((o) => o.retryAfter));
  }
}

function isNearer(a: Outcome, b: Outcome): boolean {
  if (a.allowed !== b.allowed) return !a.allowed;
  if (a.never !== b.never) return a.never;
  const [wait, other] = [a, b].map((o) => Math.max(Math.ceil(o.retryAfter), 1)) as [number, number];
  if (!a.allowed && !a.never && wait !== other) return wait > other;
  return a.remaining < b.remaining;
}

/** The answer to checks of several keys, all or none. */
export class AllDecision {
  constructor(
    readonly allowed: boolean,
    /** As each was decided; null for one behind the check that denied, and none where the cluster did not decide. */
    readonly checks: readonly (Decision | null)[],
    readonly decidedBy: "cluster" | "allow" | "deny",
    /** The longest wait of the checks. */
    readonly wait = 0,
    /** Which check denied first: its index, its key, and its first limit that denied. */
    readonly denied?: { readonly check: number; readonly key: string; readonly limit: string },
  ) {}

  get failedOpen(): boolean {
    return this.decidedBy === "allow";
  }

  /** As that of the check that denied; undefined where the request never passes. */
  get retryAfter(): number | undefined {
    if (this.allowed) return 0;
    if (this.decidedBy === "deny") return 1;
    return this.denied && this.checks[this.denied.check]?.retryAfter;
  }
}
