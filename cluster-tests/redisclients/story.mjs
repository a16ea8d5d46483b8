// The story that each client of JavaScript plays: lines of what is asked and answered, for TestRedisClients. A client has the functions
// connect, ask, pipeline, evalsha and close.
import { createInterface } from "node:readline";

export const sha = process.env.SHA; // of a script of redis_rate
export const [host, port] = process.argv[2].split(":");

function show(asked, answer) {
  console.log(`> ${asked}`);
  console.log(`  ${answer instanceof Error ? answer.message : JSON.stringify(answer)}`);
}

async function told(asked, promise) {
  show(asked, await promise.catch((e) => e));
}

export async function play(name, client) {
  const lines = createInterface({ input: process.stdin });
  await client.connect();
  console.log("> connect\n  ready");
  const line = (text) => told(text, client.ask(text.split(" ")));
  await line("PING");
  await line(`CL.THROTTLE ${name} 2 1 3600`);
  await line(`CL.THROTTLE ${name} 2 1 3600 2`);
  await line(`CL.THROTTLE ${name} 2 1 3600`);
  await line(`JETON.CHECK ${name} login`);
  await line(`JETON.CHECK ${name} login 9`);
  const five = Array(5).fill(`CL.THROTTLE ${name}-pipeline 2 1 3600`);
  await told(`pipeline of 5 × CL.THROTTLE ${name}-pipeline 2 1 3600`, client.pipeline(five.map((text) => text.split(" "))));
  await told(`EVALSHA ${sha} 1 ${name} 10 1 3600 4`, client.evalsha(name, ["10", "1", "3600", "4"]));
  await line(`JETON.CHECK ${name} logn`);
  await line(`CL.THROTTLE ${name} 2 0 3600`);
  await line(`GET ${name}`);
  console.log("> kill -9 of the node, and a start");
  await new Promise((resume) => lines.once("line", resume));
  lines.close();
  const again = `CL.THROTTLE ${name} 2 1 3600`;
  for (let asked = false; !asked; ) {
    asked = await client.ask(again.split(" ")).then((a) => (show(again, a), true), () => new Promise((r) => setTimeout(r, 50, false)));
  }
  await client.close();
}
