// Keys: the hottest, those that are denied most, and a search.
import { query, read } from "./api.js";
import { h } from "./dom.js";
import { escapeKey, list, percent, short, visible, whole } from "./format.js";
import { ordering } from "./order.js";
import { bar, foreign, keyHref, limitLink, pill, problem, table } from "./parts.js";
import { state } from "./state.js";

const PAUSE = 250; // milliseconds after the last letter

// Keys can be ordered by these.
export const COLUMNS = { rate: { value: (k) => k.per_second }, denied: { value: (k) => k.denied }, key: { value: (k) => k.key, down: false }, used: { value: used } };

// open makes the view.
export function open(at, { redraw }) {
  const hot = ordering("hot-keys", "rate", COLUMNS, redraw), denied = ordering("denied-keys", "denied", COLUMNS, redraw);
  let q = at.query.get("q") ?? "", limit = at.query.get("limit") ?? "", found = null, failed = null, timer = 0, aborter = new AbortController();

  async function search() {
    aborter.abort();
    aborter = new AbortController();
    history.replaceState(null, "", `#/keys${query({ q, limit })}`); // so that the address can be sent, and be come back to
    if (!q) {
      found = failed = null;
      redraw();
      return;
    }
    const { signal } = aborter;
    try {
      const answer = await read(`console/keys${query({ q, limit, most: 100 })}`, signal);
      if (!signal.aborted) [found, failed] = [answer, null];
    } catch (err) {
      if (!signal.aborted) [found, failed] = [null, err];
    }
    redraw();
  }

  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(search, PAUSE);
  };
  if (q) search();

  return {
    title: () => "Keys",
    stop() {
      clearTimeout(timer);
      aborter.abort();
    },
    draw: () => [
      h("h1", {}, "Keys"),
      h("form", { class: "tools", role: "search", onsubmit: (e) => { e.preventDefault(); search(); } },
        h("label", { class: "grow" }, "Key, or its beginning ", h("input", { type: "search", name: "q", value: q, placeholder: "user:42", autocomplete: "off", spellcheck: "false", autocapitalize: "off", oninput: (e) => { q = e.target.value; soon(); } })),
        h("label", {}, "of the limit ", h("select", { "data-key": state.limits ? "limits" : "none", onchange: (e) => { limit = e.target.value; search(); } }, h("option", { value: "" }, "any"), Object.keys(state.limits ?? {}).map((l) => h("option", { value: l, selected: l === limit }, l))))),
      failed && problem(failed),
      q && found && results(q, limit, found),
      h("section", { id: "hot-keys", "aria-labelledby": "hot" }, h("h2", { id: "hot" }, "Checked most"), keyTable("Keys that are checked most", hot, state.view?.keys, "No key has 32 checks a second or more now: search for others by their beginning.")),
      h("section", { id: "denied-keys", "aria-labelledby": "most-denied" }, h("h2", { id: "most-denied" }, "Denied most"), keyTable("Keys that are denied most", denied, state.view?.denied, "No busy key is denied now.")),
    ],
  };
}

function used(k) {
  return Math.max(-1, ...(k.buckets ?? []).map((b) => b.used));
}

// results are the keys that were found, and how to get to one that is not in memory.
function results(q, limit, found) {
  const all = found.keys ?? [];
  const exact = all.some((k) => k.key === q);
  const notes = [
    !found.complete && "There may be more: the search ended early. A longer beginning finds fewer.",
    found.silent?.length > 0 && `No answer from ${list(found.silent)}: keys there may be missing.`,
  ].filter(Boolean);
  const limits = limit ? [limit] : Object.keys(state.limits ?? {});
  return h("section", { id: "all-found", "aria-labelledby": "found" }, h("h2", { id: "found" }, "Found"),
    notes.map((n) => h("p", { class: "note" }, n)),
    table({ caption: `Keys in memory that begin with ${visible(q)}`, hideCaption: true, rows: all.map(keyRow), columns: HEADS.map(([title, cls]) => [title, cls]), empty: "No key in memory begins like that." }),
    !exact && limits.length > 0 && h("p", { class: "hint" }, "A key that is not in memory has its buckets on disk, or they are full. Look at ", foreign(q), " of ", limits.slice(0, 12).map((l, i) => [i > 0 && ", ", h("a", { href: keyHref(l, escapeKey(q)) }, foreign(l))]), "."));
}

const HEADS = [["key", "k", "key"], ["limits", ""], ["checks /s", "n", "rate"], ["of its node", "n wide"], ["share denied", "b", "denied"], ["left", "n"], ["fullest", "b", "used"], ["node", "wide"]];

const keyTable = (caption, order, all, empty) => table({ caption, hideCaption: true, rows: order.sorted(all ?? [], (k) => k.escaped).map(keyRow), columns: HEADS, sort: order, empty });

// fewKeys is a table of the first of some keys, for the overview.
export function fewKeys(caption, order, all, empty) {
  const rows = order.sorted(all ?? [], (k) => k.escaped).slice(0, FEW).map((k) => {
    const { key, cells } = keyRow(k);
    return { key, cells: [cells[0], cells[2], cells[4], cells[6]] };
  });
  return table({ caption, hideCaption: true, rows, empty, columns: [HEADS[0], HEADS[2], HEADS[4], HEADS[6]].map(([title, cls]) => [title, cls]) });
}

const FEW = 5;

function keyRow(k) {
  const full = [...(k.buckets ?? [])].sort((a, b) => b.used - a.used)[0];
  const first = full?.limit ?? k.limits?.[0];
  return {
    key: k.escaped,
    cells: [
      [first && !first.startsWith("(") ? h("a", { href: keyHref(first, k.escaped), class: "key" }, foreign(k.key)) : foreign(k.key, "key"), k.hot && [" ", pill("warning", "hot")]],
      (k.limits ?? []).map((l, i) => [i > 0 && ", ", limitLink(l)]),
      short(k.per_second), percent(k.share), bar(k.denied, "denied"),
      full ? `${whole(full.remaining)} of ${whole(full.capacity)}` : "–", bar(used(k), used(k) >= 0.9 ? "hot" : "used"), k.node ? foreign(k.node) : "–",
    ],
  };
}
