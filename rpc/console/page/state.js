// What the page knows: the last view, who looks, the limits, and the last five minutes.
import { call, read } from "./api.js";

export const MINUTES = 5;

export const state = {
  view: null, // the last one
  at: 0, // when it arrived, in milliseconds of Date.now
  me: { node: "", cluster: true, role: "node", may_look: true, may_change: false, tokens: true, who: "" },
  connection: { state: "connecting" },
  limits: null, // by name, as GET /v1/limits has them
  etag: "",
  history: { at: [], allowed: [], denied: [], failed_open: [], failed_closed: [], errors: [], p50: [], p99: [] },
};

// take keeps a view, and its rates in the history. The first view of a stream has no rates: where an older one has, it stays until the
// next comes.
export function take(view) {
  if (!view.seconds && state.view?.seconds) return;
  state.view = view;
  state.at = Date.now();
  if (!view.seconds) return;
  const h = state.history;
  const now = state.at / 1000; // by this clock, as the chart's axis is
  const last = h.at.at(-1);
  if (last !== undefined && now <= last) return;
  if (last !== undefined && now - last > 3) push(now - 1, null); // nothing is known of the time between
  push(now, view.total);
  while (h.at.length && h.at[0] < now - MINUTES * 60) for (const series of Object.values(h)) series.shift();
}

function push(at, rates) {
  const h = state.history;
  h.at.push(at);
  for (const name of ["allowed", "denied", "failed_open", "failed_closed", "errors"]) h[name].push(rates && rates[name]);
  h.p50.push(rates && rates.p50_ms);
  h.p99.push(rates && rates.p99_ms);
}

// readMe asks who looks.
export async function readMe() {
  state.me = { ...state.me, ...(await read("console/me")) };
}

// readLimits reads the limits in force.
export async function readLimits() {
  const { json, etag } = await call("GET", "v1/limits");
  state.limits = json.limits ?? {};
  state.etag = etag;
}

// gateway says whether this page is a gateway's.
export const gateway = () => state.me.role === "gateway";
