// Calls of the node. Their addresses are relative to the page's.

// A Problem is why a call has failed: title, detail, the field that is wrong, and the status of HTTP, 0 where there was no answer.
export class Problem extends Error {
  constructor({ title, detail, field, status = 0 }) {
    super(detail || title);
    Object.assign(this, { title, detail, field, status });
  }
}

const WITHIN = 8000; // milliseconds

// call sends a request and reads the answer. A body that is no text is sent as JSON. The answer is its JSON; etag is beside it.
export async function call(method, path, { body, headers = {}, signal } = {}) {
  let answer;
  const late = AbortSignal.timeout(WITHIN);
  try {
    answer = await fetch(path, {
      method,
      headers: { Accept: "application/json", ...(body === undefined ? {} : { "Content-Type": typeof body === "string" ? "text/plain" : "application/json" }), ...headers },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, late]) : late,
      cache: "no-store",
    });
  } catch (err) {
    if (signal?.aborted) throw err;
    throw new Problem({ title: "No answer", detail: late.aborted ? `There was no answer within ${WITHIN / 1000} s. Try again.` : "The node cannot be reached. Try again when it is back." });
  }
  const text = await answer.text();
  let json = null;
  try {
    json = text ? JSON.parse(text) : null;
  } catch {
    // an answer that is no JSON is told by its status
  }
  if (!answer.ok) {
    throw new Problem({ title: json?.title ?? `The answer was ${answer.status}`, detail: json?.detail ?? (text.length < 400 ? text.trim() : ""), field: json?.field, status: answer.status });
  }
  return { json, etag: answer.headers.get("ETag") };
}

// read is the JSON of a GET.
export const read = async (path, signal) => (await call("GET", path, { signal })).json;

// query is a query of those parameters that are not empty.
export function query(parameters) {
  const given = Object.entries(parameters).filter(([, v]) => v !== "" && v !== null && v !== undefined);
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

// bucketPath is the path of a bucket, whose key is percent-encoded already.
export const bucketPath = (limit, escaped) => `v1/buckets/${encodeURIComponent(limit)}/${escaped}`;
