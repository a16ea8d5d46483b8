import { JetonError, type Problem } from "./errors.js";

/** What an address answered: the status, and the JSON of the body, `undefined` where it is not JSON. */
export interface Answer {
  status: number;
  json: unknown;
}

/** An attempt that failed, and may go well at another address. `undecided`: nothing can have been decided or charged. */
export class Failed extends Error {
  constructor(
    message: string,
    readonly undecided: boolean,
  ) {
    super(message);
  }
}

/** Reads the answer to a request, up to `most` bytes of body. */
export async function read(response: Response, most: number): Promise<Answer> {
  const { status } = response;
  let text = "";
  if (response.body) {
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    let size = 0;
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      size += piece.value.byteLength;
      if (size > most) {
        void reader.cancel().catch(() => {});
        throw new Failed(`answered ${status} with more than ${most} bytes`, false);
      }
      text += decoder.decode(piece.value, { stream: true });
    }
    text += decoder.decode();
  }
  try {
    return { status, json: JSON.parse(text) };
  } catch {
    return { status, json: undefined };
  }
}

/** Throws unless the answer may be what was asked for: a Failed where another address may do better, else a JetonError. */
export function refuse({ status, json }: Answer, address: string): void {
  const problem = problemOf(json);
  if (status === 502 || status === 503 || status === 504) {
    throw new Failed(brief(`answered ${status}${problem ? `: ${problem.detail}` : ""}`), status === 503);
  }
  if (status === 200 || status === 429) {
    if (typeof json === "object" && json !== null && !problem) return;
    throw new Failed(foreign(status), false);
  }
  if (problem) throw new JetonError({ ...problem, status }, address);
  const detail = `${address} ${foreign(status)}${status >= 300 && status < 400 ? "; redirects are not followed" : ""}`;
  throw new JetonError({ type: "about:blank", title: "The answer is not that of jeton's API", status, detail }, address);
}

const ports = "name the HTTP port of a node, 7702 unless said, or the admin port of a gateway, 7781 unless said";

/** What an answer that is not the API's comes to. */
export function foreign(status: number): string {
  return `answered ${status}, and not as jeton's API does: ${ports}`;
}

/** The problem document that an answer is; undefined for another one. */
function problemOf(json: unknown): Problem | undefined {
  if (typeof json !== "object" || json === null) return undefined;
  const { type, title, status, detail, field } = json as Record<string, unknown>;
  if (typeof type !== "string" || typeof status !== "number") return undefined;
  const problem: Problem = { type, status, title: String(title ?? ""), detail: String(detail ?? "").replace('send "look":true', "ask with look()") };
  if (typeof field === "string") problem.field = field;
  return problem;
}

const refused = /^(ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;

const notHTTP = /^HPE_|\binvalid HTTP\b|\bMalformed_?HTTP/i;
const notTLS = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST)|\bInvalidContentType\b/;

const closed = /^(ECONNRESET|EPIPE|UND_ERR_SOCKET)\b/;

/** Why fetch failed, for people, and whether the request cannot have been sent. */
export function unsent(err: unknown): Failed {
  const { cause, code, message } = err as { cause?: { code?: string; message?: string }; code?: string; message?: string };
  const known = cause?.code ?? code ?? "";
  const text = cause?.message || known || message || String(err);
  const told = `${known} ${text}`;
  if (notHTTP.test(told)) return new Failed(`answered, and not in HTTP/1.1: ${ports}`, false);
  if (closed.test(told)) return new Failed(`closed the connection without an answer; if it always does, ${ports}`, false);
  if (notTLS.test(told)) return new Failed(`answered, and not in TLS: write http:// for a port without it, and ${ports}`, true);
  return new Failed(brief(text), refused.test(known) || /\bconnection refused\b/i.test(text));
}

function brief(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
