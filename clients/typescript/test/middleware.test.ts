import assert from "node:assert/strict";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test, type TestContext } from "node:test";

import { serve } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";

import { Client, type OnUnavailable } from "../src/index.js";
import { addressKey, rateLimit as ofExpress } from "../src/middleware/express.js";
import { rateLimit as ofFastify } from "../src/middleware/fastify.js";
import { rateLimit as ofFetch } from "../src/middleware/fetch.js";
import { rateLimit as ofHono } from "../src/middleware/hono.js";
import { Cluster, newKey } from "./cluster.js";
import { nothing } from "./server.js";

let cluster: Cluster;
let client: Client;

before(async () => {
  cluster = await Cluster.start(1);
  client = new Client({ addresses: cluster.addresses, timeout: 30 });
});

after(async () => cluster?.stop());

/** What a test asks of a framework, in words that all of them understand. */
interface Wanted {
  client: Client;
  limits: string | string[];
  key?: (header: (name: string) => string | undefined) => string;
  cost?: (header: (name: string) => string | undefined) => number;
  skip?: (header: (name: string) => string | undefined) => boolean;
  onUnavailable?: OnUnavailable;
}

/** Asks an application of a framework behind the middleware; it answers 200 "passed" with a limit header of its own. */
type Ask = (headers?: Record<string, string>, method?: string) => Promise<Response>;
type Start = (t: TestContext, wanted: Wanted) => Promise<Ask>;

function closed(server: Server): void {
  server.closeAllConnections();
  server.close();
}

const before200 = '"upstream";r=1';

function asking(base: string): Ask {
  return (headers = {}, method = "GET") => fetch(`${base}/things`, { headers, method });
}

/** The options with functions of that framework's requests. */
function optionsOf<R extends unknown[]>(wanted: Wanted, headerOf: (...r: R) => (name: string) => string | undefined) {
  const { key, cost, skip, ...rest } = wanted;
  return {
    ...rest,
    ...(key && { key: (...r: R) => key(headerOf(...r)) }),
    ...(cost && { cost: (...r: R) => cost(headerOf(...r)) }),
    ...(skip && { skip: (...r: R) => skip(headerOf(...r)) }),
  };
}

const frameworks: Record<string, Start> = {
  express: async (t, wanted) => {
    const app = express();
    app.use((_req, res, next) => next(res.setHeader("RateLimit", before200) && undefined));
    app.use(ofExpress(optionsOf(wanted, (req: express.Request) => (name) => req.get(name))));
    app.get("/things", (_req, res) => void res.send("passed"));
    const server = app.listen(0, "127.0.0.1");
    await new Promise((listening) => server.once("listening", listening));
    t.after(() => closed(server));
    return asking(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  },
  fastify: async (t, wanted) => {
    const app = fastify({ forceCloseConnections: true });
    app.addHook("onRequest", async (_request, reply) => void reply.header("RateLimit", before200));
    await app.register(ofFastify, optionsOf(wanted, (request: { headers: Record<string, unknown> }) => (name) => request.headers[name] as string | undefined));
    app.get("/things", async () => "passed");
    await app.listen({ port: 0, host: "127.0.0.1" });
    t.after(() => app.close());
    return asking(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`);
  },
  hono: async (t, wanted) => {
    const app = new Hono();
    app.use(ofHono(optionsOf(wanted, (c: { req: { header(name: string): string | undefined } }) => (name) => c.req.header(name))));
    app.get("/things", (c) => c.text("passed", 200, { RateLimit: before200 }));
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server;
    await new Promise((listening) => server.once("listening", listening));
    t.after(() => closed(server));
    return asking(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  },
  fetch: async (_t, wanted) => {
    const { key, ...options } = optionsOf(wanted, (request: Request) => (name) => request.headers.get(name) ?? undefined);
    const handler = ofFetch({ ...options, key: key ?? (() => "ip:127.0.0.1") }, (_request: Request) => new Response("passed", { headers: { RateLimit: before200 } }));
    return async (headers = {}, method = "GET") => {
      try {
        return await handler(new Request("http://localhost/things", { headers, method }));
      } catch {
        return new Response(null, { status: 500 }); // as servers do
      }
    };
  },
};

const user = (header: (name: string) => string | undefined) => header("x-user") ?? "";

/** How many seconds a machine that is busy may take for a few requests; a token of the limit three comes back after 50. */
const slow = 40;

/** Asks until the answers tell t and w: the limits are read in the background. */
async function known(ask: Ask): Promise<void> {
  for (let i = 0; i < 18_000; i++) {
    if ((await ask({ "x-user": newKey() })).headers.get("ratelimit-policy")?.includes(";w=")) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail("the limits did not become known");
}

for (const [name, start] of Object.entries(frameworks)) {
  test(`${name}: three pass and the fourth is told when to come back`, async (t) => {
    const ask = await start(t, { client, limits: ["three", "hour"], key: user });
    await known(ask);
    const who = { "x-user": newKey() };
    for (let left = 2; left >= 0; left--) {
      const res = await ask(who);
      assert.deepEqual([res.status, await res.text()], [200, "passed"]);
      const [, t] = new RegExp(`^${before200}, "three";r=${left};t=(\\d+)$`).exec(res.headers.get("ratelimit") ?? "") ?? [];
      // Where tokens remain, t depends on their number alone; where none remains, it is the time until the next one.
      if (left > 0) assert.equal(Number(t), left * 50);
      else assert.ok(Number(t) <= 50 && Number(t) > 50 - slow, `${res.headers.get("ratelimit")}`);
      assert.equal(res.headers.get("ratelimit-policy"), '"three";q=3;w=150, "hour";q=5;w=3600');
    }
    for (const method of ["GET", "HEAD"]) {
      const res = await ask(who, method);
      assert.equal(res.status, 429);
      const wait = res.headers.get("retry-after") ?? "";
      assert.ok(Number(wait) <= 50 && Number(wait) > 50 - slow, wait);
      assert.ok(res.headers.get("ratelimit")?.endsWith(`"three";r=0;t=${wait}`));
      assert.equal(res.headers.get("ratelimit-policy"), '"three";q=3;w=150, "hour";q=5;w=3600');
      assert.equal(res.headers.get("content-type"), "application/problem+json");
      assert.equal(res.headers.get("cache-control"), "no-store");
      assert.equal(res.headers.get("x-content-type-options"), "nosniff");
      const body = await res.text();
      if (method === "HEAD") assert.equal(body, "");
      else {
        const { detail, ...rest } = JSON.parse(body) as Record<string, unknown>;
        assert.equal(detail, `too many requests: the limit three is exhausted; try again in ${wait}s`);
        assert.deepEqual(rest, {
          type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
          title: "Request cannot be satisfied as assigned quota has been exceeded",
          status: 429,
          "violated-policies": ["three"],
        });
      }
    }
    assert.equal((await ask({ "x-user": newKey() })).status, 200);
  });

  test(`${name}: cost, skip, and a cost that can never pass`, async (t) => {
    const ask = await start(t, { client, limits: "three", key: user, cost: (h) => Number(h("x-cost") ?? 1), skip: (h) => h("x-health") === "yes" });
    const who = { "x-user": newKey() };
    assert.equal((await ask({ ...who, "x-cost": "2" })).status, 200);
    const denied = await ask({ ...who, "x-cost": "2" });
    assert.deepEqual([denied.status, (await client.look(who["x-user"], "three")).remaining], [429, 1]);
    const skipped = await ask({ ...who, "x-health": "yes" });
    assert.deepEqual([skipped.status, skipped.headers.get("ratelimit")], [200, before200]);
    const never = await ask({ ...who, "x-cost": "4" });
    assert.deepEqual([never.status, never.headers.get("retry-after")], [429, null]);
    assert.match(((await never.json()) as { detail: string }).detail, /^this request asks too much of the limit three: the cost is above/);
  });

  test(`${name}: without a key the peer counts, and no header changes that`, async (t) => {
    const ask = await start(t, { client, limits: { fetch: "api", hono: "search", express: "login", fastify: "budget" }[name]! });
    await ask({ "x-forwarded-for": "203.0.113.9", forwarded: "for=203.0.113.9" });
    const limit = { fetch: "api", hono: "search", express: "login", fastify: "budget" }[name]!;
    const { recent } = (await client.bucket(limit, "ip:127.0.0.1")) as { recent: unknown[] };
    assert.equal(recent.length, 1);
  });

  test(`${name}: what decides where no address answers`, async (t) => {
    const away = new Client({ addresses: await nothing(), timeout: 0.3 });
    const open = await (await start(t, { client: away, limits: "three", key: user, onUnavailable: "allow" }))({ "x-user": "k" });
    assert.deepEqual([open.status, open.headers.get("ratelimit"), open.headers.get("ratelimit-policy")], [200, before200, null]);
    const closed = await (await start(t, { client: away, limits: "three", key: user, onUnavailable: "deny" }))({ "x-user": "k" });
    assert.deepEqual([closed.status, closed.headers.get("retry-after"), closed.headers.get("ratelimit-policy")], [503, "1", null]);
    assert.deepEqual(await closed.json(), {
      type: "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
      title: "Request cannot be satisfied due to temporary server capacity constraints",
      status: 503,
      detail: "rate limiter unavailable; retry later",
      "violated-policies": [],
    });
    t.mock.method(console, "error", () => {}); // where frameworks log what they answer 500 or 503
    const failing = await (await start(t, { client: away, limits: "three", key: user }))({ "x-user": "k" });
    assert.ok([500, 503].includes(failing.status));
    assert.doesNotMatch((await failing.text()).replace(/<pre>[\s\S]*<\/pre>/, ""), /127\.0\.0\.1|ECONN/);
  });

  test(`${name}: what the cluster refuses is an error, and passes nothing`, async (t) => {
    t.mock.method(console, "error", () => {});
    for (const [limits, who] of [["no-such-limit", "k"], ["three", "x".repeat(600)], ["three", ""]] as const) {
      const ask = await start(t, { client, limits, key: user, onUnavailable: "allow" });
      assert.equal((await ask({ "x-user": who })).status, 500);
    }
  });

  test(`${name}: wrong options are refused at the start`, async (t) => {
    for (const [wrong, says] of [[{ client: undefined }, /client: is missing/], [{ limits: [] }, /limits: name at least one/], [{ onUnavailable: "open" }, /onUnavailable: open is not "allow"/], [{ limit: "three" }, /limit: is not an option; did you mean limits\?/], [{ limits: undefined }, /limits: name/]] as const) {
      await assert.rejects(async () => start(t, { client, limits: "three", ...wrong } as unknown as Wanted), says);
    }
  });
}

test("fetch: a key is required, and gets what the handler gets", async () => {
  assert.throws(() => ofFetch({ client, limits: "three" } as unknown as Parameters<typeof ofFetch>[0], () => new Response()), /key: is missing/);
  const handler = ofFetch({ client, limits: "three", key: (_request, info: { address: string }) => addressKey(info.address)! }, (_request: Request, info: { address: string }) =>
    Response.json({ from: info.address }),
  );
  const res = await handler(new Request("http://localhost/"), { address: "2001:db8:7::1" });
  assert.deepEqual(await res.json(), { from: "2001:db8:7::1" });
  assert.equal((await client.look("ip:2001:db8:7::/64", "three")).remaining, 2);
});

test("a cost that is no number of tokens is refused at the start", () => {
  for (const cost of [0, -1, 1.5, "2"]) {
    assert.throws(() => ofExpress({ client, limits: "three", cost: cost as number }), (err) => err instanceof TypeError && err.message.startsWith(`cost: ${cost} is not a number of tokens from 1 on`));
  }
});

test("fastify: what its register takes stays its own", async (t) => {
  const app = fastify();
  t.after(() => app.close());
  await app.register(ofFastify, { client, limits: "three", logLevel: "warn" });
  await app.ready();
});

test("a gateway answers the same requests with the same fields and body", async (t) => {
  const ask = await frameworks["express"]!(t, { client, limits: "items", key: user });
  await known(ask);
  const who = { "x-user": newKey() };
  const shown = (res: Response) => ["ratelimit", "ratelimit-policy", "retry-after", "content-type", "cache-control", "x-content-type-options"].map((f) => res.headers.get(f)?.replace(`${before200}, `, ""));
  const both = async () => {
    const [ours, gateways] = await Promise.all([ask(who), fetch(`${cluster.proxy}/v1/items`, { headers: { "x-api-key": "test-key-123" } })]);
    return [ours, gateways] as const;
  };
  for (let i = 0; i < 60; i++) {
    const [ours, gateways] = await both();
    assert.equal(ours.status, 200);
    if (!gateways.headers.has("ratelimit")) continue; // it has waited 2 s for its node, and let the request through
    assert.deepEqual(shown(ours)[1], shown(gateways)[1]);
    // A token comes back each second, now and then between the two: the fields are alike, and the same where as much remains.
    for (const res of [ours, gateways]) assert.match(shown(res)[0] ?? "", /^"items";r=(?:0;t=1|([1-9]\d*);t=\1)$/);
  }
  let [ours, gateways] = await both();
  for (let i = 0; i < 200 && (ours.status !== 429 || gateways.status !== 429); i++) [ours, gateways] = await both();
  assert.deepEqual(shown(ours), shown(gateways));
  const { instance, detail: said, ...rest } = (await gateways.json()) as Record<string, unknown>;
  const { detail, ...our } = (await ours.json()) as Record<string, unknown>;
  assert.ok(instance);
  assert.deepEqual(our, rest);
  const ms = /\d+(ms|s)$/;
  assert.equal(String(detail).replace(ms, "…"), String(said).replace(ms, "…"));
});

test("addresses as a gateway has them in keys", () => {
  for (const [address, key] of [
    ["192.0.2.7", "ip:192.0.2.7"], ["::ffff:192.0.2.7", "ip:192.0.2.7"], ["::FFFF:c000:207", "ip:192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "ip:2001:db8:1:2::/64"], ["2001:DB8::1", "ip:2001:db8::/64"], ["2001:db8:0:1::", "ip:2001:db8:0:1::/64"],
    ["::1", "ip:::/64"], ["fe80::1%eth0", "ip:fe80::/64"], ["unknown", undefined], ["", undefined], [undefined, undefined], ["a:b", undefined], ["1.2.3.4:80", undefined],
  ] as const) {
    assert.equal(addressKey(address), key, String(address));
  }
});
