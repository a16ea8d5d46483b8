import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { repository } from "./cluster.js";
import { allowed, fake, json } from "./server.js";

const here = join(repository, "clients/typescript");

function run(folder: string, command: string, ...args: string[]): string {
  const ended = spawnSync(command, args, { cwd: folder, encoding: "utf8", timeout: 180_000 });
  assert.equal(ended.status, 0, `${command} ${args.join(" ")}: ${ended.error?.message ?? ""}\n${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

const program = `
import { Client, Unavailable, type Decision } from "jeton-client";
import { rateLimit } from "jeton-client/fetch";

const client = new Client({ addresses: process.argv[2]!, timeout: 30 });
const decision: Decision = await client.check("user:42", ["demo"], { cost: 1 });
const left: number | undefined = decision.remaining;
const handler = rateLimit({ client, limits: "demo", key: (request) => request.url }, () => new Response("passed"));
const answer: Response = await handler(new Request("http://localhost/"));
console.log(left, answer.headers.get("RateLimit"), Unavailable.name);
`;

test("what npm packs is installed in an empty folder, type-checks and runs", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "jeton-client-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [packed] = JSON.parse(run(here, "npm", "pack", "--json", "--ignore-scripts", "--pack-destination", folder)) as [{ filename: string; files: { path: string }[] }];
  const files = packed.files.map((f) => f.path);
  for (const file of ["package.json", "README.md", "dist/src/index.js", "dist/src/index.d.ts", "dist/src/middleware/hono.d.ts"]) assert.ok(files.includes(file), `${file} is not in ${files.join(", ")}`);
  assert.deepEqual(files.filter((f) => /test|node_modules|tsconfig/.test(f)), []);

  writeFileSync(join(folder, "package.json"), '{"name":"empty","private":true,"type":"module"}');
  run(folder, "npm", "install", "--offline", "--no-audit", "--no-fund", `./${packed.filename}`);
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8")).packages), ["node_modules/jeton-client"]);

  writeFileSync(join(folder, "program.ts"), program);
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--types", "node", "--typeRoots", join(here, "node_modules/@types")];
  run(folder, join(here, "node_modules/.bin/tsc"), ...options, "program.ts");
  const node = await fake(t, (_, res) => json(res, 200, allowed));
  const child = await import("node:child_process").then(({ execFile }) =>
    new Promise<string>((done, failed) => execFile(process.execPath, ["program.js", node.url], { cwd: folder }, (err, out) => (err ? failed(err) : done(out)))),
  );
  assert.equal(child, '9 "demo";r=9 Unavailable\n');

  writeFileSync(join(folder, "wrong.ts"), 'import { Client } from "jeton-client";\nnew Client({ addresses: 7 });\n');
  const wrong = spawnSync(join(here, "node_modules/.bin/tsc"), [...options, "--noEmit", "wrong.ts"], { cwd: folder, encoding: "utf8" });
  assert.match(wrong.stdout, /wrong\.ts.*number/s);
});

test("the lock names no registry, and every dependency of development exactly", () => {
  const lock = readFileSync(join(here, "package-lock.json"), "utf8");
  assert.doesNotMatch(lock, /"resolved"/);
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(here, "package.json"), "utf8")) as Record<string, Record<string, string>>;
  assert.equal(dependencies, undefined);
  for (const [name, version] of Object.entries(devDependencies!)) assert.match(version, /^\d+\.\d+\.\d+$/, name);
});
