// Parts that several views are made of.
import { h } from "./dom.js";
import { clock, escapeKey, moment, percent, short, visible } from "./format.js";
import { state } from "./state.js";

// foreign is a text from outside: its direction of writing stays its own, and its unseen characters are written out.
export const foreign = (text, className) => h("bdi", { class: className, title: text.length > 40 ? visible(text) : null }, visible(text));

// keyLink is a link to the page of a key, with a limit of it.
export const keyHref = (limit, escaped) => `#/keys/${encodeURIComponent(limit)}/${escaped}`;
export const keyLink = (limit, key, escaped = escapeKey(key)) => h("a", { href: keyHref(limit, escaped), class: "key" }, foreign(key));

export const limitLink = (name) => (name.startsWith("(") ? foreign(name) : h("a", { href: `#/limits/${encodeURIComponent(name)}`, class: "limit" }, foreign(name)));

// bar is a share of 0 to 1 drawn, with the same in text beside it; -1 is not known.
export function bar(share, kind = "") {
  if (!(share >= 0)) return h("span", { class: "muted" }, "–");
  const full = Math.min(share, 1);
  return h("span", { class: `bar ${kind}` }, h("span", { class: "track", "aria-hidden": "true" }, h("span", { class: "part", style: { width: `${full * 100}%` } })), h("span", { class: "num" }, percent(share)));
}

// bad is a rate of what should not be.
export const bad = (rate) => (rate > 0 ? pill("warning", short(rate)) : "0");

// pill is a word about a state, in the colour of it.
export const pill = (kind, ...text) => h("span", { class: `pill ${kind}` }, ...text);

// time is a moment; the hour alone where it is of today. Its title is the time in UTC.
export function time(at, whole = false) {
  if (Number.isNaN(at.getTime())) return h("span", { class: "muted" }, "–");
  const today = new Date().toDateString() === at.toDateString();
  return h("time", { datetime: at.toISOString(), title: `${at.toISOString()} (UTC)`, class: "nowrap" }, today && !whole ? clock(at) : moment(at));
}

// table is a table with a caption. Columns are [heading, class, sort]; rows are lists of cells, each with a key. The first cell is the
// row's heading. A column with a sort, a function, can be sorted by.
export function table({ caption, hideCaption = false, columns, rows, empty, className = "", sort = null, attributes = {} }) {
  return h("div", { class: `scroll ${className}`, role: "group", "aria-label": caption, ...attributes },
    h("table", {},
      h("caption", { class: hideCaption ? "unseen" : null }, caption),
      h("thead", {}, h("tr", {}, columns.map((c) => heading(c, sort)))),
      h("tbody", {}, rows.length ? rows.map((r) => row(r, columns)) : h("tr", { "data-key": "empty" }, h("td", { colspan: columns.length, class: "muted" }, empty ?? "None.")))));
}

function heading([title, className, by], sort) {
  if (!by || !sort) return h("th", { scope: "col", class: className }, title);
  const now = sort.by === by;
  return h("th", { scope: "col", class: className, "aria-sort": now ? (sort.down ? "descending" : "ascending") : "none" },
    h("button", { type: "button", class: "sort", onclick: () => sort.choose(by) }, title));
}

function row({ key, cells, className, attributes = {} }, columns) {
  return h("tr", { "data-key": key, class: className, ...attributes },
    cells.map((cell, i) => h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: columns[i]?.[1] }, cell)));
}

// words is a list of names with what is to be said of each.
export const words = (rows) => h("dl", { class: "words" }, rows.filter(Boolean).map(([name, ...text]) => h("div", { "data-key": name }, h("dt", {}, name), h("dd", {}, ...text))));

// copyButton copies a text.
export function copyButton(text, what) {
  return h("button", { type: "button", class: "quiet copy", "aria-label": `Copy ${what}`, onclick: (e) => copy(e.currentTarget, text) }, "Copy");
}

async function copy(button, text) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    done = copyOldWay(text); // pages of plain HTTP have no clipboard
  }
  button.textContent = done ? "Copied" : "Not copied";
  announce(done ? "Copied." : "The browser did not copy: select the text.");
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

function copyOldWay(text) {
  const field = h("textarea", { class: "unseen", readonly: true });
  field.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(field);
  const had = document.activeElement;
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  had?.focus?.();
  return done;
}

// code is a text for a shell or a program, with a button that copies it.
export const code = (text, what) => h("div", { class: "code", role: "group", "aria-label": what }, h("pre", {}, h("code", {}, text)), copyButton(text, what));

// announce tells a text to screen readers.
export function announce(text) {
  const at = document.getElementById("announcer");
  at.textContent = "";
  requestAnimationFrame(() => (at.textContent = text));
}

// waiting is what stands in place of a view that has not come yet.
export function waiting() {
  const { state: now, why } = state.connection;
  switch (now) {
    case "blind":
      return h("p", { class: "problem" }, h("strong", {}, "The cluster cannot be looked at."), " ", foreign(why ?? ""));
    case "refused":
      return h("p", { class: "problem" }, h("strong", {}, "The node refuses to tell."), " ", foreign(why ?? ""));
    case "full":
      return h("div", { class: "note" }, h("p", {}, h("strong", {}, "As many browsers follow this node as may.")), h("p", {}, "It is asked again in some seconds. Each node shows the whole cluster: another one may have room. Limits, buckets and checks work here meanwhile."));
    case "lost":
      return h("p", { class: "note" }, "The node does not answer. It is asked again and again.");
    case "signed-out":
      return h("p", { class: "note" }, "You are signed out. ", h("a", { href: location.pathname }, "Sign in"), " to go on.");
  }
  return h("p", { class: "muted" }, "Waiting for the first view…");
}

// problem is a Problem on the page.
export const problem = (err, what) => h("div", { class: "problem", role: "alert" }, h("strong", {}, what ?? err.title ?? "It did not work"), " ", foreign(err.message ?? String(err)));
