/** What became of a hold. */
export interface Settled {
  /** Tokens that it has cost, that came back, and by how many the bucket is overdrawn: of the limit that charged most. */
  readonly charged: number;
  readonly returned: number;
  readonly debt: number;
  /** When a hold that is open expires, in nanoseconds since the Unix epoch, as a text. */
  readonly untilNs?: string;
  readonly limits: readonly SettledLimit[];
}

/** The same of each limit. */
export interface SettledLimit extends Omit<Settled, "limits"> {
  readonly name: string;
  readonly state: "settled" | "open" | "expired" | "lost" | "unknown";
}

/** How a settlement goes on. */
export interface SettleOptions {
  /** More may be used: the hold stays open. */
  open?: boolean;
  /** With open: it lasts so many seconds from now on. */
  for?: number;
  signal?: AbortSignal;
}

/** How a hold is extended. */
export interface ExtendHoldOptions {
  /** Tokens that were used so far, in all. */
  cost?: number;
  signal?: AbortSignal;
}

/** Who settles holds: a Client. */
export interface Settler {
  settle(hold: string, cost: number, options?: SettleOptions): Promise<Settled>;
  extendHold(hold: string, seconds: number, options?: ExtendHoldOptions): Promise<Settled>;
}

/** Tokens taken for a time, by an estimate. What is not settled until it expires is charged as the limit says. */
export class Hold {
  constructor(
    private readonly by: Settler,
    /** Its text, with which any process settles it. A secret: who has it can settle. */
    readonly id: string,
    /** Tokens that were taken, of each limit. */
    readonly granted: number,
  ) {}

  /** Says how many tokens were used, in all: the rest comes back, and what is beyond is charged. May be repeated after an error. */
  settle(cost: number, options?: SettleOptions): Promise<Settled> {
    return this.by.settle(this.id, cost, options);
  }

  /** Makes the hold last so many seconds from now on. */
  extend(seconds: number, options?: ExtendHoldOptions): Promise<Settled> {
    return this.by.extendHold(this.id, seconds, options);
  }

  /** Gives all of it back: nothing was used. */
  release(): Promise<Settled> {
    return this.settle(0);
  }

  toString(): string {
    return this.id;
  }
}
