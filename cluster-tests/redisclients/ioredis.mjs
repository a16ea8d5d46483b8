// ioredis asks jeton. See story.mjs.
import { Redis } from "ioredis";
import { host, play, port, sha } from "./story.mjs";

const redis = new Redis({ host, port, lazyConnect: true, retryStrategy: () => 50, maxRetriesPerRequest: 0 });
redis.on("error", () => {}); // it connects again

await play("io", {
  connect: () => redis.connect(),
  ask: ([name, ...args]) => redis.call(name, ...args),
  evalsha: (key, args) => redis.evalsha(sha, 1, key, ...args),
  pipeline: async (commands) => (await redis.pipeline(commands.map(([name, ...args]) => ["call", name, ...args])).exec()).map(([e, answer]) => e ?? answer),
  close: () => redis.quit(),
});
