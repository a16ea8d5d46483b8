import { Guard, type RateLimitOptions } from "./guard.js";

export { addressKey } from "./address.js";
export { Undecided, type RateLimitOptions } from "./guard.js";

type Handler<A extends unknown[]> = (request: Request, ...rest: A) => Response | Promise<Response>;

/**
 * Puts limits in front of a handler of fetch requests, as Deno, Bun and others have them. A Request does not say who has sent it, so a
 * key is required: it gets what the handler gets, and `addressKey` makes one of an address.
 */
export function rateLimit<A extends unknown[]>(
  options: RateLimitOptions<[Request, ...A]> & Required<Pick<RateLimitOptions<[Request, ...A]>, "key">>,
  handler: Handler<A>,
): (request: Request, ...rest: A) => Promise<Response> {
  if (typeof options?.key !== "function") throw new TypeError("key: is missing: a Request does not say who has sent it");
  const guard = new Guard<[Request, ...A]>(options, () => undefined);
  return async (request, ...rest) => {
    const { fields, refusal } = await guard.judge(request, ...rest);
    if (refusal) return new Response(request.method === "HEAD" ? null : refusal.body, { status: refusal.status, headers: refusal.headers });
    return withFields(await handler(request, ...rest), fields);
  };
}

/** The response with more fields; the headers of some cannot be changed. */
function withFields(response: Response, fields: Record<string, string>): Response {
  if (Object.keys(fields).length === 0 || response.status === 101) return response;
  const answer = new Response(response.body, response);
  for (const [name, value] of Object.entries(fields)) answer.headers.append(name, value);
  return answer;
}
