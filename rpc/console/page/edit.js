// Editing the limits document: what would change is shown first, and then it is put in force, if no other has changed the limits since.
import { call, query, read } from "./api.js";
import { h } from "./dom.js";
import { ask } from "./dialog.js";
import { list, plural, seconds } from "./format.js";
import { announce, foreign, pill, problem, table } from "./parts.js";
import { readLimits } from "./state.js";

// What was written and not put in force, so that a look at another view does not lose it.
let draft = null;

// editor makes an editor of the document in force, at the limit of that name, or at its beginning without.
export function editor(name, redraw) {
  let text = null, version = "", read1 = null, failed = null, change = null, removing = false, busy = false, placed = false, wrong = 0;
  const back = name ? `#/limits/${encodeURIComponent(name)}` : "#/limits";
  const leave = (e) => text !== null && text !== read1 && e.preventDefault();
  addEventListener("beforeunload", leave);

  load();
  async function load() {
    try {
      const editions = await read("v1/limits/history");
      const now = editions.find((e) => e.in_force);
      version = now?.version ?? "";
      read1 = now ? (await read(`v1/limits/history?version=${version}`))[0].document : "limits: {}\n";
      if (draft?.version !== version) draft = null;
      text = draft?.text ?? read1;
    } catch (err) {
      failed = err;
    }
    redraw();
  }

  // send asks what would change, or changes it.
  async function send(dry) {
    busy = true;
    failed = null;
    redraw();
    try {
      const { json } = await call("PUT", `v1/limits${query({ dry_run: dry ? "true" : "", remove: removing ? "true" : "" })}`, { body: text, headers: version ? { "If-Match": `"${version}"` } : {} });
      wrong = 0;
      if (dry) {
        change = json;
        announce(inWords(json));
      } else {
        text = read1 = draft = null;
        await readLimits();
        announce("The new limits are in force.");
        location.hash = back;
      }
    } catch (err) {
      failed = err;
      change = null;
      wrong = Number(/line (\d+)/.exec(err.message)?.[1] ?? 0);
    }
    busy = false;
    redraw();
  }

  function edited(e) {
    text = e.target.value;
    draft = text === read1 ? null : { version, text };
    change = failed = null;
    removing = false;
    wrong = 0;
    redraw();
  }

  // anew begins with the document in force.
  function anew() {
    text = draft = failed = change = null;
    placed = false;
    load();
  }

  async function apply() {
    const removed = change.removed ?? [];
    const done = await ask({
      title: "Put these limits in force?", button: "Put in force", dangerous: removed.length > 0,
      text: [`Every node goes by them within a second. ${inWords(change)}`, removed.length > 0 && `Checks that name ${list(removed)} will fail.`].filter(Boolean),
      act: () => { removing = removed.length > 0; },
    });
    if (done) send(false);
  }

  return {
    stop: () => removeEventListener("beforeunload", leave),
    draw() {
      const title = [h("p", { class: "crumbs" }, h("a", { href: "#/limits" }, "Limits"), " ›"), h("h1", {}, "Edit limits")];
      if (text === null) return [title, failed ? problem(failed) : h("p", { class: "muted" }, "Reading…")];
      const lines = text.split("\n").length;
      return [title,
        h("p", { class: "hint", id: "edit-hint" }, version ? `This is version ${version}, as YAML. ` : "", "Nothing changes before you have seen what would change.", text !== read1 && [" You have changed it: ", h("button", { type: "button", class: "link", onclick: anew }, "begin anew"), "."]),
        h("div", { class: "edit" },
          h("pre", { class: "gutter", "aria-hidden": "true" }, gutter(lines, wrong)),
          h("textarea", { id: "document", "aria-label": "The limits document", "aria-describedby": "edit-hint", "aria-invalid": wrong ? "true" : null, spellcheck: "false", autocapitalize: "off", wrap: "off", rows: Math.min(Math.max(lines + 1, 12), 32), oninput: edited, onscroll: follow })),
        failed && problem(failed, failed.status === 412 ? "The limits have changed since." : wrong ? `Line ${wrong} is wrong.` : null),
        failed?.status === 412 && h("p", {}, h("button", { type: "button", onclick: anew }, "Read them again"), " What you have written here is lost: copy it first."),
        h("div", { class: "buttons left" },
          h("button", { type: "button", class: change ? "" : "primary", disabled: busy || text === read1, onclick: () => send(true) }, "What would change?"),
          change && changes(change) > 0 && h("button", { type: "button", class: "primary", disabled: busy, onclick: apply }, "Put in force…"),
          h("a", { class: "button quiet", href: back }, "Leave it")),
        change && difference(change)];
    },
    drawn(main) {
      const field = main.querySelector("#document");
      if (!field || placed) return;
      placed = true;
      field.value = text;
      const at = name ? text.search(new RegExp(`^ +["']?${RegExp.escape?.(name) ?? name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}["']?:`, "m")) : 0;
      field.focus();
      field.setSelectionRange(Math.max(at, 0), Math.max(at, 0));
      const line = text.slice(0, Math.max(at, 0)).split("\n").length;
      field.scrollTop = (line - 3) * parseFloat(getComputedStyle(field).lineHeight);
    },
  };
}

// gutter are the numbers of that many lines, of which one may be wrong.
function gutter(lines, wrong) {
  const numbers = (from, to) => Array.from({ length: Math.max(to - from + 1, 0) }, (_, i) => `${from + i}\n`).join("");
  if (!wrong) return numbers(1, lines);
  return [numbers(1, wrong - 1), h("span", { class: "wrong" }, wrong), `\n${numbers(wrong + 1, lines)}`];
}

// follow keeps the numbers of lines beside them.
function follow(e) {
  e.target.previousElementSibling.scrollTop = e.target.scrollTop;
}

const changes = (c) => c.added.length + c.changed.length + c.removed.length;

// inWords is what a document changes, in a sentence.
function inWords(c) {
  const parts = [["adds", c.added], ["changes", c.changed], ["removes", c.removed]].filter(([, names]) => names.length).map(([verb, names]) => `${verb} ${names.length > 5 ? plural(names.length, "limit") : list(names)}`);
  return parts.length ? `The document ${list(parts)}.` : "The document changes nothing: it says what is in force.";
}

// difference is what a document changes, field by field.
function difference(c) {
  const of = (name) => (c.added.includes(name) ? pill("good", "new") : c.removed.includes(name) ? pill("critical", "removed") : pill("notice", "changed"));
  const rows = (c.changes ?? []).map((f) => ({ key: `${f.limit} ${f.field}`, cells: [[foreign(f.limit), " ", of(f.limit)], foreign(f.field), f.before ? h("del", {}, foreign(f.before)) : "–", f.after ? h("ins", {}, foreign(f.after)) : "–"] }));
  for (const name of [...c.added, ...c.removed]) if (!(c.changes ?? []).some((f) => f.limit === name)) rows.push({ key: name, cells: [[foreign(name), " ", of(name)], "", "", ""] });
  const used = (c.used ?? []).map((u) => `${u.limit} (last check ${seconds(Math.max(1, Math.round(u.ago_ms / 1000)))} ago)`);
  return h("section", { "aria-labelledby": "would" }, h("h2", { id: "would" }, "What would change"), h("p", {}, inWords(c)),
    rows.length > 0 && table({ caption: "Fields that would change", hideCaption: true, columns: [["limit", ""], ["field", ""], ["now", ""], ["then", ""]], rows }),
    used.length > 0 && h("p", { class: "problem" }, `Still in use: ${used.join(", ")}.`),
    c.silent?.length > 0 && h("p", { class: "problem" }, `No answer from ${list(c.silent)}: removed limits may be in use there.`),
    c.effects?.length > 0 && h("ul", { class: "effects" }, c.effects.map((e) => h("li", {}, h("b", {}, foreign(e.limit)), ": ", foreign(e.text)))));
}
