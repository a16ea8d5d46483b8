import type { Client } from "../client.js";
import type { Decision, OnUnavailable } from "../decision.js";
import { JetonError, Unavailable } from "../errors.js";
import { onlyKnown, policy } from "../options.js";
import type { Limit } from "../request.js";
import { limitFields, refusal, type Refusal } from "./fields.js";
import { Known } from "./known.js";

type Maybe<T> = T | Promise<T>;

/** What a middleware is made of. R is what the framework hands over: the request, or its context, and what comes with it. */
export interface RateLimitOptions<R extends unknown[]> {
  client: Client;
  limits: Limit | readonly Limit[];
  /**
   * Who is limited, such as (request) => `user:${request.user.id}`. Unless said, it is the address of the peer as the framework gives it:
   * behind a proxy that is the proxy's, the same for all clients, until the framework is told which proxies to trust.
   */
  key?: (...request: R) => Maybe<string>;
  /** Tokens that a request takes; 1 unless said. */
  cost?: number | ((...request: R) => Maybe<number>);
  /** The plan by whose numbers the limits go. */
  plan?: string | ((...request: R) => Maybe<string | undefined>);
  /** Requests that pass without being counted. */
  skip?: (...request: R) => Maybe<boolean>;
  /** In place of the client's: "deny" answers 503, "allow" lets requests pass, "error" leaves it to the framework's handling of errors. */
  onUnavailable?: OnUnavailable;
}

const names = Object.keys({ client: 0, limits: 0, key: 0, cost: 0, plan: 0, skip: 0, onUnavailable: 0 } satisfies Record<keyof RateLimitOptions<[]>, 0>);

/** What becomes of a request. */
export interface Verdict {
  /** Fields that the answer gets, whoever writes it. */
  fields: Record<string, string>;
  /** What to answer in place of passing the request on. */
  refusal?: Refusal;
  decision?: Decision;
}

/** No decision was made about a request: the cause says why. Frameworks may show the message to clients, so it names nothing inside. */
export class Undecided extends Error {
  override name = "Undecided";
  readonly status: number;
  readonly statusCode: number;

  constructor(cause: unknown) {
    super("the rate limiter gave no decision", { cause });
    this.status = this.statusCode = cause instanceof Unavailable ? 503 : 500;
  }
}

/** Judges requests, for every framework alike. */
export class Guard<R extends unknown[]> {
  readonly #known: Known;

  /** `peer` gives the key of a request where the options have none: undefined where it is not known. `more` are options of the framework. */
  constructor(
    private readonly options: RateLimitOptions<R>,
    private readonly peer: (...request: R) => string | undefined,
    more: readonly string[] = [],
  ) {
    if (typeof options?.client?.check !== "function") throw new TypeError("client: is missing: pass a Client of jeton-client");
    onlyKnown(options, [...names, ...more]);
    if (options.onUnavailable !== undefined) policy(options.onUnavailable);
    const { limits, cost } = options;
    if (cost !== undefined && typeof cost !== "function" && !(Number.isSafeInteger(cost) && cost > 0)) {
      throw new TypeError(`cost: ${String(cost)} is not a number of tokens from 1 on: skip lets requests pass that are not to be counted`);
    }
    if (!limits || (Array.isArray(limits) && limits.length === 0)) throw new TypeError('limits: name at least one, such as "api"');
    for (const name of ["key", "skip"] as const) {
      if (options[name] !== undefined && typeof options[name] !== "function") throw new TypeError(`${name}: is not a function`);
    }
    this.#known = new Known(options.client, [limits].flat().filter((l): l is string => typeof l === "string"));
  }

  /** Throws Undecided, and what the functions of the options throw. */
  async judge(...request: R): Promise<Verdict> {
    const { client, limits, key, cost, plan, skip, onUnavailable } = this.options;
    if (await skip?.(...request)) return { fields: {} };
    const who = key ? await key(...request) : this.peer(...request);
    if (typeof who !== "string" || who === "") {
      throw new TypeError(key ? "key: gave no text for a request" : "the address of the peer is not known: name a key");
    }
    const tokens = typeof cost === "function" ? await cost(...request) : cost;
    const numbers = typeof plan === "function" ? await plan(...request) : plan;
    const decision = await client
      .check(who, limits, {
        ...(tokens !== undefined && { cost: tokens }),
        ...(numbers !== undefined && { plan: numbers }),
        ...(onUnavailable !== undefined && { onUnavailable }),
      })
      .catch((err: unknown) => {
        throw err instanceof JetonError ? new Undecided(err) : err;
      });
    const fields = limitFields(decision, this.#known);
    return decision.allowed ? { fields, decision } : { fields, decision, refusal: refusal(decision, fields) };
  }
}

/** The value of a list field that may have members already. */
export function joined(before: unknown, value: string): string {
  return before === undefined || before === null || before === "" ? value : `${String(before)}, ${value}`;
}
