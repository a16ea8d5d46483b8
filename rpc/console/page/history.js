// The versions of the limits, and the audit log.
import { read } from "./api.js";
import { h } from "./dom.js";
import { bytes, whole } from "./format.js";
import { foreign, pill, table, time } from "./parts.js";

// historyTable is the versions that are kept, the newest first.
export function historyTable(editions) {
  const rows = [...editions].reverse().map((e) => ({
    key: e.version,
    cells: [[`version ${e.version} `, e.in_force && pill("good", "in force")], e.at ? time(new Date(e.at)) : "when it was founded", e.who ? foreign(e.who) : "–", e.detail ? foreign(e.detail) : "–", bytes(e.bytes), documentOf(e)],
  }));
  return [h("p", { class: "hint" }, "To bring a version back: ", h("code", {}, "jeton limits rollback VERSION"), ", or copy its document into the editor."),
    table({ caption: "Versions of the limits", hideCaption: true, rows, columns: [["version", ""], ["put in force", ""], ["by", ""], ["what", "t"], ["size", "n"], ["document", ""]] })];
}

// documentOf shows the document of a version when it is opened.
function documentOf(e) {
  const open = async (event) => {
    const box = event.currentTarget;
    const text = box.querySelector("pre");
    if (!box.open || text.dataset.read) return;
    text.dataset.read = "yes";
    try {
      text.textContent = (await read(`v1/limits/history?version=${encodeURIComponent(e.version)}`))[0].document;
    } catch (err) {
      delete text.dataset.read;
      text.textContent = err.message;
    }
  };
  return h("details", { ontoggle: open }, h("summary", {}, "show"), h("pre", { class: "plain", "data-keep": `document ${e.version}` }, "Reading…"));
}

// auditTable is what operators have done, the newest first.
export function auditTable(log) {
  const rows = [...log.entries].reverse().map((e) => ({
    key: e.number, cells: [time(new Date(e.at), true), foreign(e.who), foreign(e.verb), foreign(e.object ?? "–"), foreign(e.detail ?? "–"), foreign(e.from ?? "–"), foreign(e.node)],
  }));
  return [table({ caption: "What operators have done", hideCaption: true, rows, empty: "Nothing has been changed yet.", columns: [["when", ""], ["who", ""], ["did", "nowrap"], ["to", "k"], ["what", "t"], ["from", "wide nowrap"], ["asked", "wide nowrap"]] }),
    log.dropped !== "0" && h("p", { class: "muted" }, `${whole(Number(log.dropped))} older ones are not kept.`)];
}
