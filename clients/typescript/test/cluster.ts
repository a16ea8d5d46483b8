import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

/** The folder of the repository. */
export const repository = resolve(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../../../..");

const limits = `limits:
  demo: {capacity: 10, refill: 10/h}
  three: {capacity: 3, refill: 1/50s}
  hour: {algorithm: fixed-window, limit: 5, window: 1h}
  queue: {capacity: 1, refill: 1/20s, wait: 30s}
  items: {capacity: 60, refill: 1/s}
  many: {capacity: 300, refill: 1/24h, reserve: exact}
  tokens: {capacity: 10000, refill: 10000/m, hold: 10m, max_debt: 100}
  streams: {algorithm: concurrency, limit: 2, lease: 1m}
  api: {capacity: 100, refill: 50/s}
  login: {capacity: 5, refill: 5/m}
  search: {capacity: 1000, refill: 100/s}
  budget: {algorithm: fixed-window, limit: 5000000, per: month, hold: 10m}
  tiers: {capacity: 2, refill: 2/h, plans: {pro: {capacity: 20, refill: 20/h}}}
`;

export interface Node {
  name: string;
  http: string;
  pid: number;
}

/**
 * A cluster of processes with a gateway: jeton dev on ports that are free. One node is exact however busy the machine is; of three, one
 * that waits too long for another asks a third, and both may charge a check.
 */
export class Cluster {
  private constructor(
    private readonly dev: ChildProcess,
    private readonly folder: string,
    readonly nodes: readonly Node[],
    readonly proxy: string,
    readonly admin: string,
  ) {}

  get addresses(): string[] {
    return this.nodes.map((n) => n.http);
  }

  static async start(size: 1 | 3): Promise<Cluster> {
    const folder = mkdtempSync(join(tmpdir(), "jeton-client-"));
    const binary = process.env["JETON"] || (built ??= build());
    writeFileSync(join(folder, "limits.yaml"), limits);
    const dev = spawn(binary, ["dev", "--port", "0", "--nodes", String(size), "--data", join(folder, "data"), "--limits", join(folder, "limits.yaml")], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    process.once("exit", () => dev.kill("SIGINT"));
    let log = "";
    let late: NodeJS.Timeout | undefined;
    await new Promise<void>((started, failed) => {
      late = setTimeout(() => failed(new Error(`jeton dev did not start:\n${log}`)), 180_000);
      const heard = (text: Buffer) => {
        log += text.toString();
        if (log.includes("Ctrl-C")) started();
      };
      dev.stdout.on("data", heard);
      dev.stderr.on("data", heard);
      dev.once("exit", (code) => failed(new Error(`jeton dev ended with ${code}:\n${log}`)));
    }).finally(() => clearTimeout(late));
    const nodes = [...log.matchAll(/(node-\d)\s+gRPC \S+\s+HTTP (\S+)\s+process (\d+)/g)].map(([, name, http, pid]) => ({ name: name!, http: http!, pid: Number(pid) }));
    const [, proxy, admin] = /gateway +HTTP +(\S+) +process \d+\s+admin (http:\/\/[^,\s]+)/.exec(log) ?? [];
    if (nodes.length !== size || !proxy || !admin) throw new Error(`the welcome of jeton dev has changed:\n${log}`);
    return new Cluster(dev, folder, nodes, proxy, admin);
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.dev.once("exit", resolve));
    this.dev.kill("SIGINT");
    const late = setTimeout(() => this.dev.kill("SIGKILL"), 180_000);
    await ended;
    clearTimeout(late);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

let built: string | undefined;

/** Builds the binary of this tree, for the clusters of this process. */
function build(): string {
  const folder = mkdtempSync(join(tmpdir(), "jeton-client-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const binary = join(folder, "jeton");
  const built = spawnSync("go", ["build", "-o", binary, "./cmd/jeton"], { cwd: repository, encoding: "utf8" });
  if (built.status !== 0) throw new Error(`go build: ${built.error?.message ?? built.stderr}`);
  return binary;
}

let drawn = 0;

/** A key that no other test has. */
export function newKey(): string {
  return `test:${process.pid}:${++drawn}`;
}
