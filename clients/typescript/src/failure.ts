import type { Unavailable } from "./errors.js";

/** What is called with the error each time that onUnavailable decides in place of the cluster. What it throws, the call throws. */
export type OnFailure = (err: Unavailable) => void;

/** Milliseconds from one warning to the next. */
const every = 60_000;

/** Warns on the console, once a minute at most: a client that lets everything pass is to be noticed. */
export function warning(): OnFailure {
  let last = -Infinity;
  return (err) => {
    if (performance.now() - last < every) return;
    last = performance.now();
    console.warn(`jeton: onUnavailable decides in place of the cluster: ${err.message}`);
  };
}
