import type { OnUnavailable } from "./decision.js";

/** Refuses an option that does not exist: plain JavaScript hears nothing of a name that is mistyped. */
export function onlyKnown(options: object, names: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    const near = names.find((known) => distance(plain(name), plain(known)) <= 2);
    throw new TypeError(`${name}: is not an option; ${near ? `did you mean ${near}?` : `there are ${names.join(", ")}`}`);
  }
}

/** The policy, if it is one. */
export function policy(name: OnUnavailable): OnUnavailable {
  if (name !== "allow" && name !== "deny" && name !== "error") throw new TypeError(`onUnavailable: ${String(name)} is not "allow", "deny" or "error"`);
  return name;
}

const plain = (name: string) => name.toLowerCase().replace(/[^a-z]/g, "");

/** How many letters are to be put in, left out or changed to make b of a. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + Number(a[i - 1] !== b[j - 1])));
    row = next;
  }
  return row[b.length]!;
}
