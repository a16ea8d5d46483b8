// node-redis asks jeton. See story.mjs.
import { createClient } from "redis";
import { host, play, port, sha } from "./story.mjs";

const client = createClient({ socket: { host, port: Number(port), reconnectStrategy: () => 50 }, disableOfflineQueue: true });
client.on("error", () => {}); // it connects again

await play("node", {
  connect: () => client.connect(),
  ask: (words) => client.sendCommand(words),
  evalsha: (key, args) => client.evalSha(sha, { keys: [key], arguments: args }),
  pipeline: (commands) => Promise.all(commands.map((words) => client.sendCommand(words))),
  close: () => client.close(),
});
