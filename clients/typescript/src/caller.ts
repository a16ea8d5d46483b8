import { Failed, foreign, read, refuse, unsent, type Answer } from "./answer.js";
import { Unavailable, type Attempt } from "./errors.js";
import { pause, within } from "./time.js";

/** A call of the API. */
export interface Call {
  method: "GET" | "POST";
  /** With the leading slash, percent-encoded. */
  path: string;
  body?: unknown;
  /** Whether it may be sent again although it may have taken effect. */
  repeatable: boolean;
  /** Bytes that the body of the answer may have. */
  most: number;
  signal?: AbortSignal | undefined;
}

/** How often all addresses are asked at most, and the first pause between, in seconds. */
const rounds = 3;
const firstPause = 0.01;

/** Sends calls to the first address that answers, beginning with the one that has answered last. */
export class Caller {
  #next: number | undefined; // drawn at the first call: workers draw nothing before

  constructor(
    readonly addresses: readonly string[],
    readonly timeout: number,
    private readonly token: string | (() => string | Promise<string>) | undefined,
    private readonly fetch: typeof globalThis.fetch,
  ) {}

  /** The answer to a call, as `as` reads it; what it reads as undefined is no answer. Throws Unavailable, a JetonError, or the reason of the signal. */
  async call<T>(call: Call, as: (json: object) => T | undefined): Promise<T> {
    const began = performance.now();
    const spent = () => (performance.now() - began) / 1000;
    const attempts: Attempt[] = [];
    const unavailable = (options?: ErrorOptions) => new Unavailable([...attempts], spent(), options);
    return within(this.timeout, call.signal, unavailable, async (signal) => {
      const headers = await this.#headers(call).catch((err: unknown) => {
        throw new Unavailable([{ address: "token", reason: String(err) }], spent(), { cause: err });
      });
      let at = (this.#next ??= Math.floor(Math.random() * this.addresses.length));
      for (let round = 0; round < rounds && !signal.aborted; round++) {
        if (round > 0) await pause(firstPause * 2 ** (round - 1) * (1 + 2 * Math.random()));
        for (let left = this.addresses.length; left > 0 && !signal.aborted; left--) {
          const address = this.addresses[at]!;
          attempts.push({ address, reason: "no answer in time" });
          try {
            const value = await this.#attempt(call, address, headers, (this.timeout - spent()) / left, signal, as);
            this.#next = at;
            return value;
          } catch (err) {
            if (signal.aborted || !(err instanceof Failed)) throw err;
            attempts[attempts.length - 1] = { address, reason: err.message };
            at = (at + 1) % this.addresses.length;
            if (!call.repeatable && !err.undecided) throw unavailable();
          }
        }
      }
      throw unavailable();
    });
  }

  async #attempt<T>(
    call: Call,
    address: string,
    headers: Record<string, string>,
    seconds: number,
    signal: AbortSignal,
    as: (json: object) => T | undefined,
  ): Promise<T> {
    const late = () => new Failed("no answer in time", false);
    const answer: Answer = await within(seconds, signal, late, async (signal) => {
      const init: RequestInit = { method: call.method, headers, redirect: "manual", signal };
      if (call.body !== undefined) init.body = JSON.stringify(call.body);
      const send = this.fetch; // without a receiver, which workers refuse
      return read(await send(address + call.path, init), call.most);
    }).catch((err: unknown) => {
      throw signal.aborted || err instanceof Failed ? err : unsent(err);
    });
    refuse(answer, address);
    const value = as(answer.json as object);
    if (value === undefined) throw new Failed(foreign(answer.status), false);
    return value;
  }

  async #headers(call: Call): Promise<Record<string, string>> {
    const headers: Record<string, string> = { accept: "application/json, application/problem+json" };
    if (call.body !== undefined) headers["content-type"] = "application/json";
    const token = typeof this.token === "function" ? bare(await this.token()) : this.token;
    if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
    return headers;
  }
}

/** The token without what surrounds it, such as the end of a file's last line. */
export function bare(token: string): string {
  const text = String(token ?? "").trim();
  if (!/^[\x21-\x7e]+$/.test(text)) throw new TypeError("token: it is empty, or has characters that no header can have");
  return text;
}

/** The addresses as base URLs without a slash at the end. Throws a TypeError that names the one that is wrong. */
export function baseURLs(addresses: string | readonly string[]): string[] {
  const list = typeof addresses === "string" ? [addresses] : addresses;
  if (!Array.isArray(list) || list.length === 0) throw new TypeError('addresses: name at least one, such as "http://a:7702"');
  return list.map((address) => {
    let url: URL | undefined;
    try {
      url = new URL(address);
    } catch {
      // said below
    }
    if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
      const shown = JSON.stringify(address)?.replace(/\/\/.*@/, "//…@"); // not the password
      throw new TypeError(`addresses: ${shown} is not the base URL of a node or gateway, such as "http://a:7702"`);
    }
    return (url.origin + url.pathname).replace(/\/+$/, "");
  });
}
