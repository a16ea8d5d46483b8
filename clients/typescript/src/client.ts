import { bare, baseURLs, Caller } from "./caller.js";
import { AllDecision, Decision, type OnUnavailable, type Receipt } from "./decision.js";
import { Unavailable } from "./errors.js";
import { warning, type OnFailure } from "./failure.js";
import type { ExtendHoldOptions, Hold, Settled, SettleOptions } from "./hold.js";
import * as json from "./json.js";
import { onlyKnown, policy } from "./options.js";
import { bucketPath, checkBody, randomId, span, tokens, type Check, type CheckOptions, type Limit } from "./request.js";

/** What a client is made of. */
export interface ClientOptions {
  /** Base URLs of nodes (HTTP port, 7702 unless said) or of gateways (admin port, 7781 unless said). Any of them answers for every key. */
  addresses: string | readonly string[];
  /** Sent as `Authorization: Bearer …`: a text, or a function that is asked for it before each call. */
  token?: string | (() => string | Promise<string>);
  /** Seconds that a whole call may take, with all its attempts; 1 unless said. */
  timeout?: number;
  /** What decides about a check, a hold or checkAll where no address answers in time; "error" unless said. */
  onUnavailable?: OnUnavailable;
  /** Called with the error each time that "allow" or "deny" decides; unless said, it warns on the console, once a minute at most. */
  onFailure?: OnFailure;
  /** Sends requests in place of the global fetch. */
  fetch?: typeof globalThis.fetch;
}

/** What a single call may have. */
export interface CallOptions {
  /** Ends the call; its reason is thrown. */
  signal?: AbortSignal;
  /** In place of the client's. */
  onUnavailable?: OnUnavailable;
}

/** By which a repeated request gets the first one's answer, and is charged once. Drawn at random unless given. */
export interface Identified {
  requestId?: string;
}

export interface HoldOptions extends Pick<CheckOptions, "cost" | "plan">, CallOptions, Identified {
  /** How many seconds to hold the tokens, from 1 to the `hold` of every limit. */
  for: number;
  /** Take what is left where that is less than the cost, and at least this. */
  least?: number;
}

/** Bytes of answers: of most calls, and of those that may be long. */
const most = 1 << 20;
const mostOfMany = 64 << 20;

const names = Object.keys({ addresses: 0, token: 0, timeout: 0, onUnavailable: 0, onFailure: 0, fetch: 0 } satisfies Record<keyof ClientOptions, 0>);

/** Asks a cluster of jeton over its JSON API. It is safe for concurrent use, and has nothing to close. */
export class Client {
  readonly #caller: Caller;
  readonly #onUnavailable: OnUnavailable;
  readonly #onFailure: OnFailure;

  constructor(options: ClientOptions) {
    if (typeof options !== "object" || options === null) throw new TypeError('options: name addresses, such as { addresses: "http://a:7702" }');
    onlyKnown(options, names);
    const { addresses, token, timeout = 1, onUnavailable = "error", onFailure = warning(), fetch = globalThis.fetch } = options;
    if (typeof timeout !== "number" || !(timeout > 0 && timeout <= 3600)) throw new TypeError(`timeout: ${String(timeout)} is not from 0 to 3600 seconds`);
    if (typeof fetch !== "function") throw new TypeError("fetch: is not a function; there is no global one here");
    if (typeof onFailure !== "function") throw new TypeError("onFailure: is not a function");
    this.#onUnavailable = policy(onUnavailable);
    this.#onFailure = onFailure;
    this.#caller = new Caller(baseURLs(addresses), timeout, typeof token === "string" ? bare(token) : token, fetch);
  }

  /** May key take the cost of every limit? All of them admit, or none is charged. */
  async check(key: string, limits: Limit | readonly Limit[], options: CheckOptions & CallOptions & Identified = {}): Promise<Decision> {
    return this.#decide("/v1/check", { ...checkBody({ ...options, key, limits }), for: undefined, least: undefined }, options);
  }

  /** What the limits have left. It takes nothing, and is always allowed. */
  async look(key: string, limits: Limit | readonly Limit[], options: { plan?: string; signal?: AbortSignal } = {}): Promise<Decision> {
    const body = { ...checkBody({ ...options, key, limits }), look: true };
    return this.#post("/v1/check", body, options.signal, (answer) => json.decision(answer, this));
  }

  /** Takes tokens for a time, by an estimate: settle the decision's `hold` by what was used. */
  async hold(key: string, limits: Limit | readonly Limit[], options: HoldOptions): Promise<Decision> {
    const { for: seconds, cost, least, plan } = options;
    const lasts = span("for", seconds); // checkBody leaves out what is undefined
    return this.#decide("/v1/hold", { ...checkBody({ key, limits, cost, least, plan } as Check), for: lasts }, options);
  }

  /**
   * Checks of up to 16 keys: all are admitted, or none is charged. They have no request id: one that may have been decided is not
   * asked again.
   */
  async checkAll(checks: readonly Check[], options: CallOptions = {}): Promise<AllDecision> {
    const body = { checks: checks.map(checkBody) };
    return this.#orPolicy(
      options,
      () => this.#post("/v1/check-all", body, options.signal, (answer) => json.allDecision(answer, this), false),
      (by) => new AllDecision(by === "allow", [], by),
    );
  }

  /** Says how many tokens of a hold were used, in all. May be repeated: it takes effect once. */
  async settle(hold: Hold | string, cost: number, options: SettleOptions = {}): Promise<Settled> {
    const lasts = options.for === undefined ? undefined : span("for", options.for);
    const body = { hold: String(hold), cost: tokens("cost", cost), open: options.open, for: lasts };
    return this.#post("/v1/settle", body, options.signal, json.settled);
  }

  /** Makes a hold last so many seconds from now on. */
  async extendHold(hold: Hold | string, seconds: number, options: ExtendHoldOptions = {}): Promise<Settled> {
    const cost = options.cost === undefined ? undefined : tokens("cost", options.cost);
    return this.#post("/v1/extend", { hold: String(hold), for: span("for", seconds), cost }, options.signal, json.settled);
  }

  /** Makes a permit of a concurrency limit last its lease from now on. The decision has its next receipt. */
  async extend(key: string, receipt: Receipt, options: { signal?: AbortSignal } = {}): Promise<Decision> {
    return this.#post("/v1/extend", { key, receipt }, options.signal, (answer) => json.decision(answer, this));
  }

  /** Gives back what was not used, up to 1,000 receipts of one key: for each, whether it took effect. */
  async giveBack(key: string, receipts: readonly Receipt[], options: { signal?: AbortSignal } = {}): Promise<boolean[]> {
    return this.#post("/v1/return", { key, receipts }, options.signal, json.returned);
  }

  /** A bucket, as docs/api.md describes its JSON. Beyond loopback it needs a token. */
  async bucket(limit: string, key: string, options: { plan?: string; signal?: AbortSignal } = {}): Promise<Record<string, unknown>> {
    const path = bucketPath(limit, key, options.plan);
    return this.#get(path, options.signal, (answer) => answer as Record<string, unknown>);
  }

  /** The limits in force, by name. */
  async limits(options: { signal?: AbortSignal } = {}): Promise<Record<string, Record<string, unknown>>> {
    return this.#get("/v1/limits", options.signal, json.limits);
  }

  #decide(path: string, body: Record<string, unknown>, options: CallOptions & Identified): Promise<Decision> {
    return this.#orPolicy(
      options,
      async () => {
        const request_id = options.requestId ?? (await randomId());
        return this.#post(path, { ...body, request_id }, options.signal, (answer) => json.decision(answer, this));
      },
      (by) => new Decision(by === "allow", [], by),
    );
  }

  async #orPolicy<T>(options: CallOptions, ask: () => Promise<T>, instead: (by: "allow" | "deny") => T): Promise<T> {
    const by = policy(options.onUnavailable ?? this.#onUnavailable);
    try {
      return await ask();
    } catch (err) {
      if (by === "error" || !(err instanceof Unavailable)) throw err;
      this.#onFailure(err);
      return instead(by);
    }
  }

  #post<T>(path: string, body: unknown, signal: AbortSignal | undefined, as: (answer: object) => T | undefined, repeatable = true): Promise<T> {
    return this.#caller.call({ method: "POST", path, body, signal, repeatable, most }, as);
  }

  #get<T>(path: string, signal: AbortSignal | undefined, as: (answer: object) => T | undefined): Promise<T> {
    return this.#caller.call({ method: "GET", path, signal, repeatable: true, most: mostOfMany }, as);
  }
}
