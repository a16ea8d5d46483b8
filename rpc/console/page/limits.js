// The limits: what each is and does, the document, overrides, history and the audit log.
import { read } from "./api.js";
import { h } from "./dom.js";
import { editor } from "./edit.js";
import { short, unescapeKey, visible, whole } from "./format.js";
import { auditTable, historyTable } from "./history.js";
import { overridesPart } from "./overrides.js";
import { needsToken } from "./may.js";
import { ordering } from "./order.js";
import { bar, foreign, limitLink, problem, table } from "./parts.js";
import { gateway, state } from "./state.js";
import { details, numbers, variant } from "./words.js";

const PARTS = [["", "Limits"], ["overrides", "Overrides"], ["history", "History"], ["audit", "Audit log"]];
const MOST = 200; // rows at once

const COLUMNS = {
  name: { value: (l) => l.name, down: false },
  rate: { value: (l) => (l.rates ? l.rates.allowed + l.rates.denied : 0) },
  share: { value: (l) => l.rates?.denied_share ?? 0 },
  used: { value: (l) => l.rates?.used ?? -1 },
};

// open makes the view of all limits, or of one.
export function open(at, { redraw }) {
  const name = at.rest ? unescapeKey(at.rest) : "";
  let show = "", edit = null, filter = "", more = MOST;
  const loaded = { overrides: null, history: null, audit: null };
  const overrides = overridesPart(name, redraw);

  function turn(next) {
    show = next.query.get("show") ?? "";
    const wants = next.query.get("edit");
    if (wants === null) {
      edit?.stop();
      edit = null;
    } else {
      edit ??= editor(wants, redraw);
    }
    if (show === "overrides" || name) overrides.load();
    if (show === "history") load("history", "v1/limits/history");
    if (show === "audit") load("audit", "v1/audit?last=200");
    redraw();
  }

  function load(what, path) {
    read(path).then((json) => (loaded[what] = { json }), (err) => (loaded[what] = { err })).then(redraw);
  }

  const order = ordering("all-limits", "name", COLUMNS, redraw);
  order.down = false;

  function all() {
    const rates = new Map((state.view?.limits ?? []).map((l) => [l.name, l]));
    const every = Object.entries(state.limits ?? {}).map(([n, l]) => ({ name: n, limit: l, rates: rates.get(n) }));
    if (rates.has("(inline)")) every.push({ name: "(inline)", limit: null, rates: rates.get("(inline)") });
    const found = order.sorted(every, (l) => l.name).filter((l) => l.name.includes(filter));
    const rows = found.slice(0, more).map((l) => limitRow(l.name, l.limit, l.rates));
    return [
      h("div", { class: "tools", id: "find" },
        h("label", {}, "Find ", h("input", { type: "search", placeholder: "part of a name", oninput: (e) => { filter = e.target.value; redraw(); } })),
        changeButton("", "Edit the document")),
      h("section", { id: "all-limits", "aria-label": "Limits in force" }, table({
        caption: "Limits in force", hideCaption: true, rows, sort: order, empty: filter ? "No limit has a name with that in it." : "There are no limits yet.",
        columns: [["limit", "", "name"], ["numbers", "t"], ["checks /s", "n", "rate"], ["share denied", "b", "share"], ["fullest bucket", "b", "used"], ["plans", "wide"], ["overrides", "n wide"], ["decided by", "wide"]],
      })),
      found.length > more && h("p", {}, h("button", { type: "button", onclick: () => { more += MOST; redraw(); } }, `Show more: ${whole(found.length - more)} are left`)),
    ];
  }

  const parts = () => h("nav", { "aria-label": "Limits" }, h("ul", { class: "tabs small" }, PARTS.map(([part, title]) =>
    h("li", {}, h("a", { href: `#/limits${part ? `?show=${part}` : ""}`, "aria-current": show === part ? "page" : null }, title)))));

  const shown = {
    "": all,
    overrides: () => overrides.draw(),
    history: () => part(loaded.history, historyTable),
    audit: () => part(loaded.audit, auditTable),
  };

  turn(at);
  return {
    turn,
    title: () => (name ? `Limit ${visible(name)}` : "Limits"),
    stop: () => edit?.stop(),
    draw() {
      if (edit) return edit.draw();
      if (name) return one(name, overrides);
      return [h("h1", {}, "Limits"), gateway() && h("p", { class: "note" }, "These are the limits as this gateway knows them. They are changed at a node of the cluster."), !gateway() && state.me.cluster && parts(), (shown[show] ?? all)()];
    },
    drawn: (main) => edit?.drawn(main),
  };
}

// part is what has been read, or why it has not.
function part(loaded, draw) {
  if (!loaded) return h("p", { class: "muted" }, "Reading…");
  return loaded.err ? problem(loaded.err) : draw(loaded.json);
}

function limitRow(name, l, rates) {
  const plans = Object.keys(l?.plans ?? {});
  return {
    key: name,
    cells: [
      limitLink(name), l ? numbers(l) : "defined by requests", rates ? short(rates.allowed + rates.denied) : "0",
      bar(rates?.denied_share ?? 0, "denied"), bar(rates?.used ?? -1, rates?.used >= 0.9 ? "hot" : "used"),
      plans.length ? foreign(plans.join(", ")) : "–", l?.overrides?.length ? whole(l.overrides.length) : "–",
      l ? { leased: "gateways, ahead", eventual: "gateways, reported", local: "each gateway" }[l.consistency] ?? "owners" : "owners",
    ],
  };
}

// changeButton opens the editor for who may change, and otherwise says what is needed.
export function changeButton(name, title) {
  if (gateway()) return null;
  if (!state.me.cluster) return h("span", { class: "hint" }, "This node is alone: edit its limits file and send it SIGHUP.");
  if (!state.me.may_change) return needsToken("To change limits, ");
  return h("a", { class: "button", href: `#/limits${name ? `/${encodeURIComponent(name)}` : ""}?edit=${encodeURIComponent(name)}` }, title);
}

// one is the page of one limit.
function one(name, overrides) {
  const l = state.limits?.[name];
  const back = h("p", { class: "crumbs" }, h("a", { href: "#/limits" }, "Limits"), " ›");
  if (!state.limits) return [back, h("h1", {}, foreign(name)), h("p", { class: "muted" }, "Reading…")];
  if (!l) return [back, h("h1", {}, foreign(name)), h("p", {}, "There is no limit of this name now. It may have been removed: the ", h("a", { href: "#/limits?show=history" }, "history"), " has older versions.")];
  const rates = state.view?.limits.find((r) => r.name === name);
  return [back, h("h1", {}, foreign(name)),
    h("p", { class: "lead" }, numbers(l), "."), h("p", { class: "muted" }, details(l).join(" ")),
    h("div", { class: "tools" }, changeButton(name, "Edit"), h("a", { class: "button quiet", href: `#/try?limit=${encodeURIComponent(name)}` }, "Try it")),
    h("dl", { class: "tiles" }, tile("allowed", short(rates?.allowed ?? 0), " /s"), tile("denied", short(rates?.denied ?? 0), " /s"), tile("share denied", bar(rates?.denied_share ?? 0, "denied")), tile("fullest bucket", bar(rates?.used ?? -1, "used")), tile("failed open", short(rates?.failed_open ?? 0), " /s"), tile("failed closed", short(rates?.failed_closed ?? 0), " /s"), tile("errors", short(rates?.errors ?? 0), " /s")),
    plansOf(l), keysOf(name), overrides.draw(),
    h("details", { class: "panel" }, h("summary", {}, "All fields"), h("pre", { class: "plain" }, JSON.stringify({ ...l, overrides: undefined }, null, 2)))];
}

const tile = (name, value, unit = "") => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value, h("span", { class: "unit" }, unit)));

function plansOf(l) {
  const plans = Object.entries(l.plans ?? {});
  if (!plans.length) return null;
  return h("section", { id: "plans" }, h("h2", {}, "Plans"), table({
    caption: "Plans of this limit", hideCaption: true, columns: [["plan", ""], ["numbers", "t"]], rows: plans.map(([plan, v]) => ({ key: plan, cells: [foreign(plan), variant(l, v)] })),
  }));
}

// keysOf are the busy keys of the limit.
function keysOf(name) {
  const view = state.view;
  const seen = new Map();
  for (const k of [...(view?.keys ?? []), ...(view?.denied ?? [])]) if (k.limits?.includes(name)) seen.set(k.escaped, k);
  const rows = [...seen.values()].slice(0, 10).map((k) => {
    const bucket = k.buckets?.find((b) => b.limit === name);
    return {
      key: k.escaped,
      cells: [h("a", { href: `#/keys/${encodeURIComponent(name)}/${k.escaped}`, class: "key" }, foreign(k.key)), short(k.per_second), bar(k.denied, "denied"), bucket ? `${whole(bucket.remaining)} of ${whole(bucket.capacity)}` : "–", bar(bucket?.used ?? -1, bucket?.used >= 0.9 ? "hot" : "used")],
    };
  });
  return h("section", { id: "busy-keys" }, h("h2", {}, "Busy keys"), table({
    caption: "Keys of this limit that are checked most", hideCaption: true, rows, empty: "No key of this limit is among the busiest now.",
    columns: [["key", "k"], ["checks /s", "n"], ["share denied", "b"], ["left", "n"], ["used", "b"]],
  }));
}
