import type { Context, Env, MiddlewareHandler } from "hono";

import { addressKey } from "./address.js";
import { Guard, type RateLimitOptions } from "./guard.js";

export { addressKey } from "./address.js";
export { Undecided, type RateLimitOptions } from "./guard.js";

/**
 * A middleware of Hono. Unless the options have a key, requests count by the address that connects, which is known on Node
 * (@hono/node-server) and Deno; elsewhere, and behind a proxy, name a key.
 */
export function rateLimit<E extends Env = Env>(options: RateLimitOptions<[Context<E>]>): MiddlewareHandler<E> {
  const guard = new Guard(options, (c) => addressKey(peer(c.env)));
  return async (c, next) => {
    const { fields, refusal } = await guard.judge(c);
    if (refusal) {
      return new Response(c.req.method === "HEAD" ? null : refusal.body, { status: refusal.status, headers: refusal.headers });
    }
    await next();
    if (c.res.status === 101) return undefined; // a response that cannot be made again
    for (const [name, value] of Object.entries(fields)) c.header(name, value, { append: true });
    return undefined;
  };
}

interface Bindings {
  incoming?: { socket?: { remoteAddress?: string } }; // Node
  remoteAddr?: { hostname?: string }; // Deno
}

function peer(env: unknown): string | undefined {
  const { incoming, remoteAddr } = (env ?? {}) as Bindings;
  return incoming?.socket?.remoteAddress ?? remoteAddr?.hostname;
}
