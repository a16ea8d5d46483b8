// Explain: why a request was refused, by its id.
import { read } from "./api.js";
import { h } from "./dom.js";
import { duration, escapeKey, unescapeKey } from "./format.js";
import { adminURL } from "./nodes.js";
import { code, foreign, keyHref, limitLink, pill, problem, table, time, words } from "./parts.js";
import { gateway, state } from "./state.js";
import * as story from "./story.js";

// open makes the view of #/explain or #/explain/ID.
export function open(at, { redraw }) {
  const asked = unescapeKey(at.rest);
  const of = story.findID(asked);
  let record = null, failed = null, wrong = asked && !of ? asked : "", started = false, timer = 0;

  async function load() {
    started = true;
    try {
      record = await read(`v1/denials/${encodeURIComponent(of.id)}`);
    } catch (err) {
      failed = err;
    }
    redraw();
  }

  function submit(e) {
    e.preventDefault();
    const text = new FormData(e.target).get("id").trim();
    const found = story.findID(text);
    wrong = found ? "" : text;
    if (found) location.hash = `#/explain/${found.id}`;
    redraw();
  }

  timer = setInterval(() => { // the wait goes down, and an answer may go on
    if (record?.exchange && !record.exchange.ended && !document.hidden) load();
    redraw();
  }, 1000);
  return {
    title: () => (of ? `Explain ${of.id}` : "Explain"),
    stop: () => clearInterval(timer),
    draw() {
      const here = gateway() && of?.gateway === story.gatewayName(state.me.gateway);
      if (here && !started) load();
      return [
        h("h1", {}, "Explain"),
        h("form", { class: "tools", onsubmit: submit },
          h("label", { class: "grow" }, "Id of a refusal ", h("input", { name: "id", value: of?.id ?? asked, required: true, placeholder: "edge-1-4f-k7wq2m5ttzrcx3ha", autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-describedby": "id-hint" })),
          h("button", { class: "primary" }, "Explain")),
        h("p", { class: "hint", id: "id-hint" }, "The client got it with the answer: the end of “instance” in its body, which may be pasted whole. Of a language model, the header X-Jeton-Exchange."),
        wrong && h("p", { class: "problem", role: "alert" }, foreign(wrong.slice(0, 200)), " has no id in it. An answer without one is no refusal of a gateway."),
        of && (here ? [failed && problem(failed), record && tell(record)] : elsewhere(of)),
      ];
    },
  };
}

// elsewhere says which gateway has the record: nodes have none.
function elsewhere({ id, gateway: name }) {
  if (!state.view) return h("p", { class: "muted" }, "Looking for its gateway…");
  const g = (state.view.gateways ?? []).find((x) => story.gatewayName(x.name) === name);
  const url = g && adminURL(g);
  const command = `jeton explain ${id} --gateway ${g?.admin || "HOST:7781"}`;
  return h("section", { class: "panel" }, h("h2", {}, "The gateway ", foreign(name), " refused it, and remembers why"),
    url
      ? h("p", {}, h("a", { class: "button primary", href: `${url}#/explain/${id}`, rel: "noreferrer" }, "Explain it there"))
      : h("p", {}, g ? "It has told this cluster no address that can be reached from elsewhere." : "It has told this cluster nothing in the last seconds: it may be stopped, or of an older release.", " Open the console at its admin address, or ask it:"),
    code(command, "the command"));
}

// tell is the story of a record.
function tell(r) {
  const denied = story.denying(r).length > 0;
  const secret = r.key?.startsWith("sha256-");
  const first = r.limits[0]?.outcome.name ?? r.exchange?.holds?.[0]?.limits?.[0];
  const passes = story.passes(r, Date.now());
  return h("article", { class: `panel story ${denied ? "denied" : ""}` },
    h("h2", {}, foreign(story.headline(r))),
    passes && h("p", { class: "lead" }, passes),
    words([
      ["when", time(new Date(r.at), true), `, ${duration(Math.max(0, Date.now() - Date.parse(r.at)) * 1e6)} ago`],
      ["request", foreign(`${r.method} ${r.path}`), ", route ", foreign(r.route || "none")],
      r.key && ["who", secret || !first ? foreign(r.key) : h("a", { href: keyHref(first, escapeKey(r.key)), class: "key" }, foreign(r.key)), secret && " (the key is secret: this is its digest)"],
      r.api_key && ["API key", foreign(r.api_key)],
      r.flaw && ["shown", foreign(`${r.flaw.credential}: ${r.flaw.check.replaceAll("_", " ")}`)],
      r.limits.length > 0 && ["cost", story.amount(r.cost, r.counts)],
      ...(r.exchange ? story.exchange(r.exchange).map(([name, text]) => [name, foreign(text)]) : []),
      r.source && ["decided by", foreign(story.decided(r))],
      r.upstream && ["upstream", foreign(r.upstream)],
      r.undecided && ["undecided", foreign(r.undecided), "; it passed uncounted, as on_unavailable says"],
      r.why && ["because", foreign(r.why)],
    ]),
    r.limits.length > 0 && table({
      caption: "What each limit said", columns: [["limit", ""], ["said", ""], ["was", ""]],
      rows: r.limits.map((l) => {
        const [kind, word, text] = story.verdict(l, r);
        return { key: l.outcome.name, cells: [l.outcome.name.includes("/") ? foreign(l.outcome.name) : limitLink(l.outcome.name), [pill(kind, word), " ", text], story.rule(l)] };
      }),
    }),
    h("p", { class: "tools" }, !secret && r.key && first && h("a", { class: "button", href: keyHref(first, escapeKey(r.key)) }, "The bucket now")));
}
