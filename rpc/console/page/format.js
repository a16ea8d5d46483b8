// Numbers, times and texts as people read them. Nothing here knows of the page.

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

// whole is a whole number with commas.
export const whole = (n) => NUMBER.format(n);

// short is a number in about three digits: 0.4, 12, 340, 1.2K, 3.4M.
export function short(n) {
  if (!Number.isFinite(n)) return "–";
  if (n > 0 && n < 0.05) return "<0.1";
  if (n < 10) return String(Math.round(n * 10) / 10);
  return n < 9999.5 ? NUMBER.format(n) : SHORT.format(n);
}

// percent is a share of 0 to 1.
export function percent(share) {
  if (!Number.isFinite(share) || share < 0) return "–";
  if (share > 0 && share < 0.001) return "<0.1%";
  if (share < 1 && share > 0.999) return ">99.9%";
  return `${share < 0.1 ? Math.round(share * 1000) / 10 : Math.round(share * 100)}%`;
}

// milliseconds is a latency in milliseconds.
export function milliseconds(ms) {
  if (!Number.isFinite(ms) || ms <= 0) return "–";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms)} ms`;
  return `${Math.round(ms / 100) / 10} s`;
}

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// bytes is a number of bytes.
export function bytes(n) {
  if (!Number.isFinite(n) || n < 0) return "–";
  let unit = 0;
  for (; n >= 1024 && unit < BYTES.length - 1; unit++) n /= 1024;
  return `${n < 10 && unit > 0 ? n.toFixed(1) : Math.round(n)} ${BYTES[unit]}`;
}

const NS = 1, US = 1e3 * NS, MS = 1e3 * US, S = 1e3 * MS, M = 60 * S, H = 60 * M, D = 24 * H;

// duration is a time in nanoseconds, in about three digits and rounded up, as the command line has it: 350ms, 2.5s, 3m20s, 5d2h.
export function duration(ns) {
  if (!Number.isFinite(ns)) return "–";
  if (ns <= 0) return "0s";
  if (ns < US) return `${Math.ceil(ns)}ns`;
  if (ns < 10 * MS) return ns < MS ? `${upTo(ns / US)}µs` : `${upTo(ns / MS)}ms`;
  if (ns < S) return `${Math.ceil(ns / MS)}ms`;
  if (ns < 10 * S) return `${upTo(ns / S)}s`;
  const step = ns < 4 * D ? S : H;
  let rest = Math.ceil(ns / step) * step;
  let text = "";
  for (const [unit, name] of [[D, "d"], [H, "h"], [M, "m"], [S, "s"]]) {
    if (unit === D && ns < 4 * D) continue;
    const n = Math.floor(rest / unit);
    rest -= n * unit;
    if (n > 0) text += `${n}${name}`;
  }
  return text;
}

const upTo = (n) => Math.ceil(n * 100 - 1e-6) / 100;

// seconds is a duration in seconds.
export const seconds = (n) => duration(n * S);

// parseDuration reads a duration as limits have it, such as 1.5s, 1m30s or 24h, as nanoseconds; NaN for others.
export function parseDuration(text) {
  const units = { ns: NS, us: US, "µs": US, ms: MS, s: S, m: M, h: H, d: D };
  let total = 0, rest = text;
  if (/^[a-zµ]+$/.test(rest)) rest = `1${rest}`;
  while (rest) {
    const part = /^([0-9]*\.?[0-9]+)(ns|us|µs|ms|s|m|h|d)/.exec(rest);
    if (!part) return NaN;
    total += Number(part[1]) * units[part[2]];
    rest = rest.slice(part[0].length);
  }
  return total;
}

// clock is a Date's time of day, here.
export const clock = (at) => at.toLocaleTimeString("en-GB");

// moment is a Date's day and time, here.
export function moment(at) {
  const two = (n) => String(n).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock(at)}`;
}

// plural is a number with its noun.
export const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;

// list is names in a sentence: a, b and c.
export function list(names, and = "and") {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} ${and} ${names.at(-1)}`;
}

// A character that draws nothing, or steers how others are drawn. The joiner of emoji is none.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

// visible is a text from outside with its unseen characters written out, such as \u{202e}, which turns the direction of writing.
export function visible(text) {
  return text.toWellFormed().replace(UNSEEN, (c) => (c === "\u200d" ? c : `\\u{${c.codePointAt(0).toString(16)}}`));
}

// escapeKey is a key as a path of the API has it.
export const escapeKey = (key) => encodeURIComponent(key.toWellFormed());

// unescapeKey is the key of such a path; what is no percent-encoding stays as it is.
export function unescapeKey(escaped) {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return escaped;
  }
}

// canonical is such a path as this page writes it: no piece of it leads elsewhere. What cannot be decoded stays.
export function canonical(escaped) {
  try {
    return escapeKey(decodeURIComponent(escaped));
  } catch {
    return escaped;
  }
}
