// The page of a key: its buckets on their lines, once a second, and what can be done to them.
import { bucketPath, call, query, read } from "./api.js";
import { condition, from, sentences, share } from "./bucket.js";
import { ask } from "./dialog.js";
import { h } from "./dom.js";
import { drawing } from "./drawing.js";
import { canonical, duration, percent, plural, unescapeKey, visible, whole } from "./format.js";
import { needsToken } from "./may.js";
import { setOverride, unsetOverride } from "./overrides.js";
import { announce, code, foreign, keyHref, limitLink, pill, problem, table, words } from "./parts.js";
import { state } from "./state.js";
import { count, numbers } from "./words.js";

const EVERY = 1000; // milliseconds between two looks
const MOST = 8; // buckets of a key that are looked at

// open makes the view of #/keys/LIMIT/KEY.
export function open(at, { redraw }) {
  const cut = at.rest.indexOf("/");
  const limit = unescapeKey(cut < 0 ? at.rest : at.rest.slice(0, cut)), escaped = cut < 0 ? "" : canonical(at.rest.slice(cut + 1));
  const key = unescapeKey(escaped), dots = key === "." || key === "..";
  const names = new Set([limit]), seen = new Map(), told = new Map();
  const aborter = new AbortController();
  let timer = 0, busy = false;

  async function look() {
    clearTimeout(timer);
    if (!document.hidden && !busy) {
      busy = true;
      await Promise.all([...names].map(lookAt));
      busy = false;
      redraw();
    }
    const never = [...names].every((name) => seen.get(name)?.err?.status === 400); // such as a key that cannot be
    if (!aborter.signal.aborted && !never) timer = setTimeout(look, EVERY);
  }

  async function lookAt(name) {
    const before = seen.get(name);
    try {
      const bucket = await read(bucketPath(name, escaped), aborter.signal);
      seen.set(name, { bucket });
      tell(name, bucket);
    } catch (err) {
      if (!aborter.signal.aborted) seen.set(name, { bucket: before?.bucket, err });
    }
  }

  // tell says when a bucket begins to deny, or to allow again.
  function tell(name, bucket) {
    const [kind, word, why] = condition(bucket);
    if (told.has(name) && told.get(name) !== kind) announce(`${name}: ${word}, ${why}.`);
    told.set(name, kind);
  }

  // The other limits of the key are those that have a bucket of it in memory.
  if (!dots) read(`console/keys${query({ q: key, most: 5 })}`, aborter.signal).then((found) => {
    for (const k of found.keys ?? []) if (k.escaped === escaped || k.key === key) for (const l of k.limits ?? []) if (names.size < MOST) names.add(l);
    redraw();
  }, () => {});
  if (!dots) look();

  const act = actions(key, look);
  return {
    title: () => `Key ${visible(key)}`,
    stop() {
      aborter.abort();
      clearTimeout(timer);
    },
    draw() {
      const others = Object.keys(state.limits ?? {}).filter((l) => !names.has(l));
      const head = [h("p", { class: "crumbs" }, h("a", { href: "#/keys" }, "Keys"), " ›"), h("h1", { class: "keyname" }, foreign(key))];
      if (dots) return [head, h("p", {}, "Browsers take this key for a part of a path, and cannot ask for it. The command line can:"), code(`jeton bucket ${limit} ${key}`, "the command")];
      return [
        head, [...names].map((name) => bucketPart(name, seen.get(name), act)),
        others.length > 0 && h("p", { class: "tools" }, h("label", {}, "Another limit of this key ", h("select", { onchange: (e) => { if (e.target.value) location.hash = keyHref(e.target.value, escaped); } }, h("option", { value: "" }, "choose…"), others.map((l) => h("option", { value: l }, l))))),
      ];
    },
  };
}

// actions are what an operator does to a bucket.
function actions(key, look) {
  const done = (text) => (result) => {
    if (result) {
      announce(text);
      look();
    }
  };
  const of = (name) => h("span", {}, foreign(key), " of ", foreign(name));
  return {
    fill: (name, b) => ask({
      title: "Fill this bucket?", button: "Fill", text: [of(name), `It then holds all of its ${whole(count(b.limit))} tokens: what was admitted before is forgotten. The audit log notes it.`],
      act: () => call("POST", "v1/fill", { body: { limit: name, key } }),
    }).then(done("The bucket is full.")),
    block: (name) => ask({
      title: "Block this key?", button: "Block", dangerous: true, text: [of(name), "Every check of it is denied. The audit log notes it."],
      fields: [h("label", {}, "For ", h("select", { name: "for" }, [["10m", "10 minutes"], ["1h", "an hour"], ["24h", "a day"], ["168h", "a week"], ["", "until it is unblocked"]].map(([value, text]) => h("option", { value }, text))))],
      act: (form) => setOverride(name, key, "deny", form.for),
    }).then(done("The key is blocked.")),
    unblock: (name) => ask({
      title: "Unblock this key?", button: "Unblock", text: [of(name), "The bucket decides again."],
      act: () => unsetOverride(name, key),
    }).then(done("The key is not blocked any more.")),
  };
}

// bucketPart is one bucket.
function bucketPart(name, seen, act) {
  if (!seen) return h("section", { "data-key": name, class: "panel bucket" }, h("h2", {}, limitLink(name)), h("p", { class: "muted" }, "Looking…"));
  const { bucket: b, err } = seen;
  if (!b) return h("section", { "data-key": name, class: "panel bucket" }, h("h2", {}, limitLink(name)), problem(err, "The bucket cannot be shown."));
  const [kind, word, why] = condition(b);
  return h("section", { "data-key": name, class: `panel bucket ${kind} ${err ? "old" : ""}`, "aria-label": `Bucket of ${name}` },
    h("header", {}, h("h2", {}, limitLink(name)), h("p", { class: "state" }, pill(kind, word), " ", why)),
    h("p", { class: "muted" }, numbers(b.limit), b.plan && [", by the plan ", foreign(b.plan)], b.override && [", by the override ", foreign(b.override)], "."),
    err && problem(err, "This is how it was: it cannot be looked at now."),
    h("p", { class: "big" }, h("b", {}, whole(b.tokens)), h("span", {}, ` of ${whole(count(b.limit))} left`), h("span", { class: "muted" }, ` ${percent(share(b))} used`)),
    drawing(b),
    words(sentences(b)),
    buttons(name, b, act),
    h("div", { class: "more" }, decisions(b), replicas(b), leases(b), holds(b), entries(b)));
}

function buttons(name, b, act) {
  if (!state.me.may_change) return h("p", { class: "tools" }, needsToken("To fill, block or unblock, "));
  const fills = (b.limit.algorithm ?? "") !== "concurrency";
  return h("p", { class: "tools" },
    fills && h("button", { type: "button", onclick: () => act.fill(name, b) }, "Fill…"),
    state.me.cluster && (b.verdict === "deny"
      ? h("button", { type: "button", onclick: () => act.unblock(name) }, "Unblock…")
      : h("button", { type: "button", onclick: () => act.block(name) }, "Block…")));
}

// ago is when something was, as seen from the bucket's now.
const ago = (b, position) => {
  const ns = from(b.now_ns, position) ?? 0;
  return ns > 0 ? `in ${duration(ns)}` : `${duration(-ns)} ago`;
};

function decisions(b) {
  const rows = [...b.recent].reverse().map((d) => ({
    key: d.at_ns, cells: [h("span", { title: d.at }, ago(b, d.at_ns)), whole(d.cost), d.allowed ? pill("good", d.cost === 0 ? "allowed, a look" : "allowed") : pill("critical", "denied")],
  }));
  return h("details", { open: true, "data-key": "decisions" }, h("summary", {}, "Recent decisions"), table({
    caption: "The last decisions, the newest first", hideCaption: true, rows, columns: [["when", ""], ["cost", "n"], ["decision", ""]], empty: "None in the owner's memory: it forgets them when the key is idle.",
  }));
}

function replicas(b) {
  const rows = b.registers.map((r) => ({
    key: r.node,
    cells: [
      foreign(r.node),
      r.error ? pill("warning", "cannot be read") : r.exists ? [b.line ? `reserved up to ${reached(b, r.reserved_ns)}` : "has the entries", `, generation ${r.generation}`] : "no register: full, as far as it knows",
      [r.error && foreign(r.error), r.sealed && "sealed: the replica set is changing. ", !r.error && r.epoch !== b.epoch && `in epoch ${r.epoch}: not counted until it reaches ${b.epoch}. `, r.floor_ns !== "0" && `floor ${reached(b, r.floor_ns)}`],
    ],
  }));
  return h("details", { "data-key": "replicas" }, h("summary", {}, `Replicas (${rows.length})`),
    h("p", { class: "muted" }, `Partition ${b.partition}, epoch ${b.epoch}, generation ${b.generation}; the owner is on `, foreign(b.node), b.awake ? `, and has it in memory, with ${plural(b.waiting, "check")} waiting.` : ", and does not have it in memory."),
    table({ caption: "What each replica has on disk", hideCaption: true, rows, columns: [["replica", ""], ["register", ""], ["besides", ""]] }));
}

function reached(b, position) {
  const ns = from(b.now_ns, position);
  if (ns === null) return "the beginning";
  return ns >= 0 ? `now + ${duration(ns)}` : `now − ${duration(-ns)}`;
}

function leases(b) {
  if (!b.leases?.length) return null;
  const rows = b.leases.map((l, i) => ({ key: `${l.edge} ${i}`, cells: [l.edge ? foreign(l.edge) : "without a name", whole(l.tokens), ago(b, l.until_ns)] }));
  return h("details", { "data-key": "leases" }, h("summary", {}, `Leases (${rows.length})`), table({ caption: "What gateways and clients have taken ahead", hideCaption: true, rows, columns: [["gateway or client", ""], ["tokens, at most", "n"], ["ends", ""]] }));
}

function holds(b) {
  const all = b.holds?.list ?? [];
  if (!all.length) return null;
  const rows = all.map((x) => ({ key: String(x.id), cells: [pill(x.state === "open" ? "notice" : "", x.state), whole(x.amount), whole(x.used), ago(b, x.until_ns)] }));
  return h("details", { "data-key": "holds" }, h("summary", {}, `Holds (${whole(b.holds.open)} open)`), table({ caption: "Holds, the newest first", hideCaption: true, rows, columns: [["state", ""], ["tokens", "n"], ["used so far", "n"], ["expires", ""]] }));
}

function entries(b) {
  const all = b.entries ?? [];
  if (!all.length) return null;
  const rows = [...all].reverse().slice(0, 50).map((e, i) => ({ key: `${e.at_ns} ${i}`, cells: [ago(b, e.at_ns), whole(e.amount), e.permit ? "a permit" : "an admission", ago(b, e.until_ns)] }));
  return h("details", { "data-key": "entries" }, h("summary", {}, `Entries (${all.length})`), table({ caption: "What was admitted and still counts, the newest first", hideCaption: true, rows, columns: [["admitted", ""], ["amount", "n"], ["kind", ""], ["counts no more", ""]] }));
}
