// Overrides: what is set for single keys and prefixes.
import { call, query, read } from "./api.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { seconds } from "./format.js";
import { needsToken } from "./may.js";
import { announce, foreign, keyLink, limitLink, problem, table, time } from "./parts.js";
import { gateway, state } from "./state.js";
import { says } from "./words.js";

// overridesPart lists overrides, of one limit or, without a name, of all, and changes them.
export function overridesPart(name, redraw) {
  let list = null, next = "", failed = null;

  async function load(after = "") {
    try {
      const page = await read(`v1/overrides${query({ limit: name, after })}`);
      list = after ? [...list, ...page.overrides] : page.overrides;
      next = page.next ?? "";
      failed = null;
    } catch (err) {
      failed = err;
    }
    redraw();
  }

  async function unset(o) {
    const done = await ask({
      title: "Unset this override?", button: "Unset", text: [h("span", {}, foreign(o.key), " then goes by the numbers of ", foreign(o.limit), " again.")],
      act: () => unsetOverride(o.limit, o.key),
    });
    if (done) {
      announce("The override is unset.");
      load();
    }
  }

  async function set() {
    const done = await ask({
      title: "Set an override", button: "Set",
      text: ["It counts for one key, or, where it ends in *, for all keys that begin alike."],
      fields: [
        h("label", {}, "Limit ", h("select", { name: "limit" }, Object.keys(state.limits ?? {}).map((l) => h("option", { selected: l === name }, l)))),
        h("label", {}, "Key or beginning ", h("input", { name: "key", required: true, placeholder: "org:acme:*" })),
        h("label", {}, "Says ", h("input", { name: "says", required: true, placeholder: "deny, allow, or capacity: 500, refill: 50/s" })),
        h("label", {}, "For ", h("input", { name: "for", placeholder: "10m; empty: until it is unset" })),
      ],
      act: (form) => setOverride(form.limit, form.key, form.says, form.for),
    });
    if (done) {
      announce("The override is set.");
      load();
    }
  }

  return {
    load: () => (gateway() || !state.me.cluster ? null : load()),
    draw() {
      if (gateway() || !state.me.cluster) return h("p", { class: "muted" }, gateway() ? "Overrides are listed at a node of the cluster." : "A node that is alone has the overrides of its limits file.");
      const may = state.me.may_change;
      const rows = (list ?? []).map((o) => ({
        key: `${o.limit} ${o.key}`,
        cells: [
          o.key.endsWith("*") ? foreign(o.key, "key") : keyLink(o.limit, o.key), !name && limitLink(o.limit),
          [foreign(says(o.says)), o.no_effect && h("span", { class: "why" }, "without effect: ", foreign(o.no_effect))],
          o.until ? ["until ", time(new Date(o.until)), left(o.until)] : "no end",
          o.document ? "the document" : [foreign(o.who ?? "–"), o.at && [", ", time(new Date(o.at))]],
          may && (o.document ? "" : h("button", { type: "button", class: "quiet", onclick: () => unset(o) }, "Unset…")),
        ].filter((c) => c !== false),
      }));
      return h("section", { id: "overrides" }, h("h2", { class: name ? null : "unseen" }, "Overrides"),
        failed && problem(failed),
        h("div", { class: "tools" }, may ? h("button", { type: "button", onclick: set }, "Set an override…") : needsToken("To set overrides, ")),
        list === null && !failed ? h("p", { class: "muted" }, "Reading…") : table({
          caption: "Overrides in force", hideCaption: true, rows, empty: "No override is in force.",
          columns: [["key or beginning", "k"], !name && ["limit", ""], ["says", "t"], ["ends", ""], ["set by", "wide"], may && [h("span", { class: "unseen" }, "change"), ""]].filter(Boolean),
        }),
        next && h("p", {}, h("button", { type: "button", onclick: () => load(next) }, "Show more")));
    },
  };
}

function left(until) {
  const s = Math.round((Date.parse(until) - Date.now()) / 1000);
  return s > 0 ? h("span", { class: "why" }, `in ${seconds(s)}`) : null;
}

// setOverride sets an override for a time, or without an end.
export const setOverride = (limit, key, what, within) => call("PUT", "v1/overrides", { body: { limit, key, says: what.trim(), ...(within?.trim() ? { for: within.trim() } : {}) } });

// unsetOverride takes an override away.
export const unsetOverride = (limit, key) => call("DELETE", `v1/overrides?${new URLSearchParams({ limit, key })}`);
