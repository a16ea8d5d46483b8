/** A limit: the name of a stored one, or one in full, such as { name: "burst", capacity: 10, refill: "1/s" }. */
export type Limit = string | ({ name: string } & Record<string, unknown>);

/** What one check asks. */
export interface CheckOptions {
  /** Tokens to take of every limit; 1 unless said. */
  cost?: number;
  /** A plan, whose numbers take the place of those of the limits. */
  plan?: string;
  /** How many seconds the caller may wait for its turn: decision.wait says how long it has to. */
  wait?: number;
  /** Asks for receipts, by which an admission is given back. */
  receipt?: boolean;
}

/** One of several checks that are admitted all or none. With `for` it is a hold. */
export interface Check extends CheckOptions {
  key: string;
  limits: Limit | readonly Limit[];
  for?: number;
  least?: number;
}

/** The body of a check. Numbers that JSON would turn into null, and so into a default, are refused here. */
export function checkBody(check: Check): Record<string, unknown> {
  const { key, limits, cost, plan, wait, receipt, least } = check;
  if (typeof key !== "string") throw new TypeError(`key: ${String(key)} is not a text, such as "user:42"`);
  return {
    key,
    limits: Array.isArray(limits) ? limits : [limits],
    cost: cost === undefined ? undefined : tokens("cost", cost),
    plan,
    wait_ms: wait === undefined ? undefined : Math.ceil(duration("wait", wait) * 1000 - 1e-6),
    receipt,
    for: check.for === undefined ? undefined : span("for", check.for),
    least: least === undefined ? undefined : tokens("least", least),
  };
}

/** A number of tokens. */
export function tokens(field: string, n: number): number {
  if (!Number.isSafeInteger(n)) throw new TypeError(`${field}: ${String(n)} is not a whole number of tokens`);
  return n;
}

/** A number of seconds as the API's text. */
export function span(field: string, seconds: number): string {
  return `${Math.round(duration(field, seconds) * 1000)}ms`;
}

function duration(field: string, seconds: number): number {
  if (typeof seconds !== "number" || !Number.isFinite(seconds)) throw new TypeError(`${field}: ${String(seconds)} is not a number of seconds`);
  return seconds;
}

/** The path of a bucket. */
export function bucketPath(limit: string, key: string, plan: string | undefined): string {
  if (key === "." || key === "..") throw new TypeError(`key: ${JSON.stringify(key)} cannot stand in a URL: ask with look`);
  const query = plan === undefined ? "" : `?plan=${encodeURIComponent(plan)}`;
  return `/v1/buckets/${encodeURIComponent(limit)}/${encodeURIComponent(key)}${query}`;
}

/** A request id that cannot be guessed: 128 random bits. */
export async function randomId(): Promise<string> {
  const source = globalThis.crypto ?? (await import("node:crypto")).webcrypto; // Node 18 has it there
  return Array.from(source.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
