// The overview: what the cluster does now, and what is wrong.
import { chart, inWords, SERIES } from "./chart.js";
import { h } from "./dom.js";
import { list, milliseconds, plural, short } from "./format.js";
import { COLUMNS as BY_KEY, fewKeys } from "./keys.js";
import { condition, gatewayTable, members, nodeTable } from "./nodes.js";
import { ordering } from "./order.js";
import { bad, bar, foreign, limitLink, pill, table, waiting } from "./parts.js";
import { state } from "./state.js";

const MOST = 15; // limits in the table

const COLUMNS = {
  name: { value: (l) => l.name, down: false },
  allowed: { value: (l) => l.allowed },
  denied: { value: (l) => l.denied },
  share: { value: (l) => l.denied_share },
  used: { value: (l) => l.used },
  open: { value: (l) => l.failed_open },
  closed: { value: (l) => l.failed_closed },
  errors: { value: (l) => l.errors },
};

// open makes the view.
export function open(_, { redraw }) {
  let plot = null;
  const order = ordering("busy-limits", "allowed", { ...COLUMNS, allowed: { value: (l) => l.allowed + l.denied } }, redraw);
  const hot = ordering("hottest", "rate", BY_KEY, redraw), denied = ordering("deniedest", "denied", BY_KEY, redraw);
  return {
    title: () => "Overview",
    draw() {
      const { view } = state;
      if (!view) return [h("h1", { class: "unseen" }, "Overview"), waiting()];
      return [h("h1", { class: "unseen" }, "Overview"), now(view), problems(view), tiles(view), figure(), limitsNow(view, order), keysNow(view, hot, denied), nodesNow(view), moves(view), gatewayTable(view)];
    },
    drawn(main) {
      const box = main.querySelector("[data-keep=chart]");
      if (!box) return;
      if (plot?.box !== box) {
        plot?.stop();
        plot = chart(box, state.history);
      }
      plot.draw();
    },
    stop: () => plot?.stop(),
  };
}

const now = (view) => view.seconds ? null : h("p", { class: "muted" }, "Rates come with the second view, in a second.");

// problems are what is wrong now, with what to do; or that nothing is.
export function problems(view) {
  const all = view.problems ?? [];
  const ill = members(view).map((m) => [m, ...condition(m)]).filter(([, kind]) => kind === "critical" || kind === "warning");
  if (!all.length && ill.length) {
    return h("section", { id: "problems", "aria-labelledby": "wrong" }, h("h2", { id: "wrong" }, "What is wrong now"),
      h("ul", { class: "problems" }, ill.map(([m, kind, word, why]) => h("li", { "data-key": m.name, class: kind }, pill(kind, word), h("div", {}, h("p", { class: "what" }, foreign(m.name)), h("p", {}, foreign(why || word)))))));
  }
  if (!all.length) return h("section", { class: "well", id: "problems", "aria-labelledby": "wrong" }, h("h2", { id: "wrong", class: "unseen" }, "What is wrong now"), h("p", {}, h("span", { class: "tick", "aria-hidden": "true" }, "✓"), " Nothing is wrong: ", healthy(view)));
  return h("section", { id: "problems", "aria-labelledby": "wrong" }, h("h2", { id: "wrong" }, "What is wrong now"),
    h("ul", { class: "problems" }, all.map((p) => h("li", { "data-key": `${p.severity} ${p.node ?? ""} ${p.what}`, class: p.severity },
      pill(p.severity, p.severity),
      h("div", {}, h("p", { class: "what" }, foreign(p.what)), h("p", { class: "do" }, foreign(p.do), p.more && [" ", h("a", { href: page(p.more), rel: "noreferrer" }, "More about it")]))))));
}

const page = (more) => `https://github.com/jeton-dev/jeton/blob/main/docs/${more}`;

function healthy(view) {
  const nodes = view.nodes.length;
  if (!view.cluster) return "the node answers and takes checks.";
  return `every key can be decided, and ${nodes === 1 ? "the node answers" : `all ${nodes} nodes answer`}.`;
}

// tiles are the rates of now. Their colours are the legend of the chart.
function tiles(view) {
  const t = view.total;
  const tile = (name, value, unit, colour, alarm) => h("div", { class: `tile ${alarm ? "alarm" : ""}` },
    h("dt", {}, colour && h("span", { class: "swatch", style: { background: `var(${colour})` }, "aria-hidden": "true" }), name), h("dd", {}, value, h("span", { class: "unit" }, unit)));
  const known = view.seconds > 0;
  const rate = (n) => (known ? short(n) : "–");
  return h("section", { id: "now", "aria-labelledby": "rates" }, h("h2", { id: "rates", class: "unseen" }, "Decisions a second"), h("dl", { class: "tiles" },
    SERIES.map(([name, words, colour]) => tile(words, rate(t[name]), " /s", colour, name !== "allowed" && name !== "denied" && t[name] > 0)),
    tile("p50 latency", known ? milliseconds(t.p50_ms) : "–", ""), tile("p99 latency", known ? milliseconds(t.p99_ms) : "–", "")));
}

function figure() {
  return h("figure", { class: "panel", id: "minutes" }, h("div", { "data-keep": "chart", class: "chart", role: "img", "aria-label": "Chart of decisions a second over the last five minutes; the same follows in words" }),
    h("figcaption", { class: "muted" }, inWords(state.history)));
}

function limitsNow(view, order) {
  const all = order.sorted(view.limits, (l) => l.name);
  const rows = all.slice(0, MOST).map((l) => ({
    key: l.name,
    cells: [limitLink(l.name), short(l.allowed), short(l.denied), bar(l.denied_share, "denied"), bar(l.used, l.used >= 0.9 ? "hot" : "used"), ...[l.failed_open, l.failed_closed, l.errors].map(bad)],
  }));
  return h("section", { "aria-labelledby": "busy", id: "busy-limits" }, h("h2", { id: "busy" }, "Limits"),
    table({
      caption: "Limits by what they decide a second", hideCaption: true, rows, sort: order, empty: "No limit decides anything now.",
      columns: [["limit", "", "name"], ["allowed /s", "n", "allowed"], ["denied /s", "n", "denied"], ["share denied", "b", "share"], ["fullest bucket", "b", "used"], ["failed open /s", "n wide", "open"], ["failed closed /s", "n wide", "closed"], ["errors /s", "n wide", "errors"]],
    }),
    all.length > MOST && h("p", {}, h("a", { href: "#/limits" }, `All ${plural(all.length, "limit")}`)));
}

const keysNow = (view, hot, denied) => h("div", { class: "pair", id: "some-keys" },
  h("section", { id: "hottest", "aria-labelledby": "hottest-keys" }, h("h2", { id: "hottest-keys" }, h("a", { href: "#/keys" }, "Keys"), " checked most"), fewKeys("Keys that are checked most", hot, view.keys, "No key has 32 checks a second or more now: the tab Keys searches for others.")),
  h("section", { id: "deniedest", "aria-labelledby": "denied-keys" }, h("h2", { id: "denied-keys" }, "Keys denied most"), fewKeys("Keys that are denied most", denied, view.denied, "No busy key is denied now.")));

const nodesNow = (view) => h("section", { id: "all-nodes", "aria-labelledby": "nodes" }, h("h2", { id: "nodes" }, "Nodes"), nodeTable(view));

function moves(view) {
  const m = view.cluster?.moves;
  if (!m?.left) return null;
  const phases = Object.entries(m.phases ?? {}).map(([phase, n]) => `${n} ${phase}`);
  const done = view.cluster.partitions - m.left;
  return h("section", { id: "all-moves", "aria-labelledby": "moves" }, h("h2", { id: "moves" }, "Moves"),
    h("p", {}, `${plural(m.left, "partition")} ${m.left === 1 ? "has" : "have"} not arrived where ${m.left === 1 ? "it is" : "they are"} to be; ${m.under_way} under way${phases.length ? `: ${list(phases)}` : ""}.`),
    h("progress", { max: view.cluster.partitions, value: done, "aria-label": `${done} of ${view.cluster.partitions} partitions are in place` }));
}
