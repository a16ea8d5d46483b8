import type { Request, RequestHandler } from "express";

import { addressKey } from "./address.js";
import { Guard, joined, type RateLimitOptions } from "./guard.js";

export { addressKey } from "./address.js";
export { Undecided, type RateLimitOptions } from "./guard.js";

/** A middleware of Express 4 and 5. Unless the options have a key, requests count by `req.ip`: set "trust proxy" behind a proxy. */
export function rateLimit(options: RateLimitOptions<[Request]>): RequestHandler {
  const guard = new Guard(options, (req) => addressKey(req.ip));
  return async (req, res, next) => {
    try {
      const { fields, refusal } = await guard.judge(req);
      if (res.headersSent) return; // something else has answered meanwhile
      for (const [name, value] of Object.entries(fields)) res.setHeader(name, joined(res.getHeader(name), value));
      if (refusal) {
        for (const [name, value] of Object.entries(refusal.headers)) if (!(name in fields)) res.setHeader(name, value);
        res.status(refusal.status).end(refusal.body);
        return;
      }
    } catch (err) {
      next(err);
      return;
    }
    next();
  };
}
