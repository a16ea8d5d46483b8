// Try it: a real check, its answer as clients get it, and the same from a shell and a program.
import { call } from "./api.js";
import { h } from "./dom.js";
import { duration, escapeKey, whole } from "./format.js";
import { announce, code, foreign, keyHref, limitLink, pill, problem, table } from "./parts.js";
import { state } from "./state.js";
import { numbers, outcome } from "./words.js";

// open makes the view.
export function open(at, { redraw }) {
  let answer = null, sent = null, failed = null, busy = false;
  const wanted = at.query.get("limit") ?? "", key = at.query.get("key") ?? "user:42";
  let limit = wanted;

  async function send(e) {
    e.preventDefault();
    const form = new FormData(e.target);
    const body = { key: form.get("key"), limits: [form.get("limit")] };
    const number = (name) => form.get(name) && Number(form.get(name));
    if (form.get("look")) body.look = true;
    else if (number("cost") !== "" && number("cost") !== 1) body.cost = number("cost");
    if (number("wait")) body.wait_ms = number("wait");
    if (form.get("for")) body.for = form.get("for");
    if (form.get("plan")) body.plan = form.get("plan");
    busy = true;
    redraw();
    try {
      answer = (await call("POST", "console/try", { body })).json;
      [sent, failed] = [body, null];
      announce(answer.decision.allowed ? "Allowed." : "Denied.");
    } catch (err) {
      [answer, failed] = [null, err];
    }
    busy = false;
    redraw();
  }

  return {
    title: () => "Try it",
    draw() {
      const names = Object.keys(state.limits ?? {});
      const chosen = state.limits?.[limit || names[0]];
      return [
        h("h1", {}, "Try it"), h("p", { class: "muted" }, "This is a real check: if it is admitted, it takes its tokens."),
        names.length === 0 && state.limits && h("p", { class: "note" }, "There are no limits yet, so there is nothing to check."),
        h("form", { class: "form", onsubmit: send },
          h("label", {}, "Limit ", h("select", { name: "limit", required: true, onchange: (e) => { limit = e.target.value; redraw(); } }, names.map((n) => h("option", { value: n, selected: n === wanted }, n)))),
          h("label", {}, "Key ", h("input", { name: "key", required: true, value: key, spellcheck: "false", autocapitalize: "off", autocomplete: "off" })),
          h("label", {}, "Cost ", h("input", { name: "cost", type: "number", min: 0, step: 1, value: 1 })),
          h("label", {}, "Wait, in ms ", h("input", { name: "wait", type: "number", min: 0, step: 1, placeholder: "0", disabled: chosen && !chosen.wait, title: chosen && !chosen.wait ? "This limit lets no check wait." : null })),
          h("label", {}, "Hold for ", h("input", { name: "for", placeholder: "60s", disabled: chosen && !chosen.hold, title: chosen && !chosen.hold ? "This limit takes no holds." : null })),
          chosen?.plans && h("label", {}, "Plan ", h("select", { name: "plan" }, h("option", { value: "" }, "none"), Object.keys(chosen.plans).map((p) => h("option", { value: p }, p)))),
          h("label", { class: "check" }, h("input", { type: "checkbox", name: "look" }), " only look"),
          h("button", { class: "primary", disabled: busy || names.length === 0 }, "Send")),
        chosen && h("p", { class: "hint" }, numbers(chosen), "."),
        failed && problem(failed),
        answer && result(answer, sent),
      ];
    },
  };
}

function result(answer, sent) {
  const d = answer.decision;
  return h("section", { class: `panel bucket ${d.allowed ? "allowed" : "denied"}`, "aria-labelledby": "answer" },
    h("header", {}, h("h2", { id: "answer" }, "The answer"), h("p", { class: "state" }, pill(d.allowed ? "allowed" : "denied", d.allowed ? "Allowed" : "Denied"), d.wait_ms ? ` begins in ${duration(d.wait_ms * 1e6)}` : "", d.granted !== undefined ? ` ${whole(d.granted)} held` : "")),
    table({
      caption: "What each limit said", hideCaption: true, columns: [["limit", ""], ["said", ""]],
      rows: d.limits.map((o) => ({ key: o.name, cells: [limitLink(o.name), [pill(o.allowed ? "good" : "critical", o.allowed ? "allowed" : "denied"), " ", outcome(o)]] })),
    }),
    h("p", {}, h("a", { href: keyHref(sent.limits[0], escapeKey(sent.key)) }, "The bucket of ", foreign(sent.key))),
    h("h3", {}, `What a client of a gateway gets: ${answer.status}`),
    answer.headers?.length ? table({ caption: "Headers", hideCaption: true, columns: [["header", ""], ["value", "k"]], rows: answer.headers.map(([name, value], i) => ({ key: `${name} ${i}`, cells: [foreign(name), h("code", {}, foreign(value))] })) }) : h("p", { class: "muted" }, "No headers."),
    h("h3", {}, "The same yourself"),
    h("div", { class: "codes" }, [["curl", answer.curl], ["Go", answer.go], ["Redis", answer.redis]].filter(([, text]) => text).map(([name, text]) => h("div", { "data-key": name }, h("h4", {}, name), code(text, `the ${name} form`)))),
    !answer.redis && h("p", { class: "hint" }, "Clients of Redis have no command for this check, or this node no address for them."));
}
