import type { FastifyPluginAsync, FastifyRequest } from "fastify";

import { addressKey } from "./address.js";
import { Guard, joined, type RateLimitOptions } from "./guard.js";

export { addressKey } from "./address.js";
export { Undecided, type RateLimitOptions } from "./guard.js";

/**
 * A plugin of Fastify: it limits the routes of the instance that registers it, in onRequest, before bodies are read. Unless the options
 * have a key, requests count by `request.ip`: set trustProxy behind a proxy.
 */
export const rateLimit: FastifyPluginAsync<RateLimitOptions<[FastifyRequest]>> = async (instance, options) => {
  const guard = new Guard(options, (request) => addressKey(request.ip), ["prefix", "logLevel", "logSerializers"]);
  instance.addHook("onRequest", async (request, reply) => {
    const { fields, refusal } = await guard.judge(request);
    for (const [name, value] of Object.entries(fields)) reply.header(name, joined(reply.getHeader(name), value));
    if (!refusal) return undefined;
    for (const [name, value] of Object.entries(refusal.headers)) if (!(name in fields)) reply.header(name, value);
    return reply.code(refusal.status).send(Buffer.from(refusal.body)); // to a text it adds a charset, which this type does not have
  });
};

// The hook is that of the instance that registers, and not of a new one inside.
Object.assign(rateLimit, { [Symbol.for("skip-override")]: true, [Symbol.for("fastify.display-name")]: "jeton-client" });
