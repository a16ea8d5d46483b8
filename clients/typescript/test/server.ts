import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface Asked {
  path: string;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
}

export interface Fake {
  url: string;
  asked: Asked[];
}

type Answer = (asked: Asked, res: ServerResponse, n: number) => void;

/** A server that is no node: it notes what it is asked, and answers as the test has it. */
export async function fake(t: TestContext, answer: Answer): Promise<Fake> {
  const asked: Asked[] = [];
  const server = createServer((req, res) => {
    let text = "";
    req.on("data", (piece: Buffer) => (text += piece.toString()));
    req.on("end", () => {
      const one = { path: req.url ?? "", headers: req.headers, body: text ? (JSON.parse(text) as Record<string, unknown>) : {} };
      asked.push(one);
      answer(one, res, asked.length);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

export function json(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

export const allowed = {
  allowed: true,
  limits: [{ name: "demo", allowed: true, limit: 10, remaining: 9, retry_after_ms: 0, reset_after_ms: 360000 }],
};

export const problem = (status: number, name: string) => ({ type: `urn:jeton:problem:${name}`, title: "A title", status, detail: `detail of ${name}` });

/** An address at which nothing listens. */
export async function nothing(): Promise<string> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return `http://127.0.0.1:${port}`;
}
