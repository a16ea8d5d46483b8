// The console: it follows the stream of views, shows the one that the address names, and says how the connection is.
import * as cluster from "./cluster.js";
import { signIn } from "./dialog.js";
import { h, patch } from "./dom.js";
import * as explain from "./explain.js";
import { seconds } from "./format.js";
import * as key from "./key.js";
import * as keys from "./keys.js";
import * as limits from "./limits.js";
import * as overview from "./overview.js";
import { announce, foreign } from "./parts.js";
import { readLimits, readMe, state, take } from "./state.js";
import { follow } from "./stream.js";
import * as tryit from "./try.js";

const TABS = [["", "Overview"], ["limits", "Limits"], ["keys", "Keys"], ["explain", "Explain"], ["cluster", "Cluster"], ["try", "Try it"]];
const VIEWS = { "": overview, limits, keys, explain, cluster, try: tryit };

const main = document.getElementById("main");
let shown = null; // {module, view, path}

// route reads the address: #/tab/rest?parameters.
function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const cut = path.indexOf("/");
  const tab = cut < 0 ? path : path.slice(0, cut);
  return { tab, rest: cut < 0 ? "" : path.slice(cut + 1), query: new URLSearchParams(query), path };
}

// go shows what the address names.
function go() {
  if (location.hash && !location.hash.startsWith("#/")) return; // the link that skips the head
  const at = route();
  const module = at.tab === "keys" && at.rest.includes("/") ? key : VIEWS[at.tab];
  const same = shown && module && shown.module === module && shown.path === at.path;
  if (same && shown.view.turn) {
    shown.view.turn(at); // only the parameters have changed
    draw();
    if (document.activeElement === document.body) main.focus({ preventScroll: true }); // what had the focus is gone
    return;
  }
  const first = shown === null;
  shown?.view.stop?.();
  patch(main);
  const view = module ? module.open(at, { redraw }) : lost(at);
  shown = { module, view, path: at.path };
  draw();
  drawTabs(at.tab);
  if (!first) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
    announce(view.title());
  }
}

const lost = (at) => ({ title: () => "No such page", draw: () => [h("h1", {}, "No such page"), h("p", {}, "There is nothing at ", foreign(at.path), ". ", h("a", { href: "#/" }, "Go to the overview"), ".")] });

let drawing = 0;

// redraw draws once, soon, however often it is called.
function redraw() {
  if (!drawing) drawing = requestAnimationFrame(draw);
}

function draw() {
  cancelAnimationFrame(drawing);
  drawing = 0;
  if (!shown) return;
  patch(main, shown.view.draw());
  shown.view.drawn?.(main);
  for (const box of main.querySelectorAll(".scroll")) { // what is wider than the page is scrolled by keyboard too
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
  document.title = `${shown.view.title()} – ${name() || "jeton"}`;
}

// name is what this cluster is called: its nodes tell it from others.
const name = () => (state.me.role === "gateway" ? state.me.gateway || "gateway" : state.me.node || state.view?.asked || "");

function drawTabs(current) {
  patch(document.getElementById("tabs"), TABS.map(([tab, title]) => h("li", {}, h("a", { href: `#/${tab}`, "aria-current": tab === current ? "page" : null }, title))));
}

// drawHead shows the cluster, the node, the connection, and who looks.
function drawHead() {
  const { me, view } = state;
  const id = view?.cluster?.cluster;
  patch(document.getElementById("where"),
    me.cluster ? h("span", {}, "cluster ", h("b", { title: id }, id ? id.slice(0, 8) : "…")) : h("span", {}, "a node that is alone"),
    h("span", {}, me.role === "gateway" ? "gateway " : "node ", h("b", {}, foreign(name() || "…"))));
  patch(document.getElementById("who"), who(me));
  drawConnection();
}

function who(me) {
  if (!me.tokens) return [h("span", { class: "muted" }, "no tokens are set up")];
  if (!me.may_change) return [h("button", { type: "button", onclick: signIn }, "Sign in")];
  return [h("span", { class: "muted who" }, foreign(me.who)), h("form", { method: "post", action: "console/sign-out" }, h("button", {}, "Sign out"))];
}

const LATE = 3500; // milliseconds after which a view is stale

let told = "live";

function drawConnection() {
  const [kind, text, title] = connection();
  document.body.classList.toggle("stale", kind !== "live" && state.view !== null);
  const at = document.getElementById("connection");
  at.className = `connection ${kind}`;
  at.title = title ?? "";
  patch(at, h("span", { class: "dot", "aria-hidden": "true" }), text);
  if (kind !== told) announce(text);
  told = kind;
}

// connection is the state of the connection: its kind, and words.
function connection() {
  const { state: now, why, until } = state.connection;
  const old = state.at ? `, stale for ${seconds(Math.max(1, Math.round((Date.now() - state.at) / 1000)))}` : "";
  const wait = Math.max(0, Math.ceil(((until ?? 0) - Date.now()) / 1000));
  const soon = wait > 0 ? `, again in ${wait} s` : "";
  switch (now) {
    case "live":
      return state.at && Date.now() - state.at > LATE ? ["refused", `the next view is late${old}`] : ["live", "live"];
    case "paused":
      return ["paused", `paused while hidden${old}`];
    case "blind":
      return ["refused", `no view of the cluster${old}`, why];
    case "full":
      return ["refused", `too many follow this node${soon}${old}`, why];
    case "refused":
      return ["refused", `refused${soon}${old}`, why];
    case "signed-out":
      return ["lost", ["signed out: ", h("a", { href: location.pathname }, "sign in")], why];
    case "lost":
      return ["lost", `reconnecting${soon}${old}`, why];
  }
  return ["connecting", "connecting…"];
}

// A theme of the visitor's own, or the system's.
const themes = ["auto", "light", "dark"];
function turnTheme() {
  const now = document.documentElement.dataset.theme ?? "auto";
  const next = themes[(themes.indexOf(now) + 1) % themes.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    if (next === "auto") localStorage.removeItem("jeton-theme");
    else localStorage.setItem("jeton-theme", next);
  } catch {
    // the browser keeps nothing: the choice lasts as long as the page
  }
  drawTheme();
  announce(`Colours: ${next}.`);
  dispatchEvent(new Event("themechange"));
}

function drawTheme() {
  const now = document.documentElement.dataset.theme ?? "auto";
  document.getElementById("theme").textContent = { auto: "Auto colours", light: "Light", dark: "Dark" }[now];
}

document.getElementById("theme").onclick = turnTheme;
drawTheme();
document.getElementById("skip").onclick = (e) => {
  e.preventDefault();
  main.focus();
};
addEventListener("hashchange", () => shown && go());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));

// Who looks, and the limits, change seldom: they are asked again when the connection comes back, and the limits when their version changes.
let version = null;
const refresh = () => Promise.allSettled([readMe(), readLimits()]).then(() => {
  drawHead();
  redraw();
});

drawTabs(route().tab);
refresh().then(go); // what a view reads depends on who looks, and where
follow("console/events", (view) => {
  take(view);
  const now = view.cluster?.limits_version;
  if (version !== null && now !== version) readLimits().then(redraw, () => {});
  version = now ?? version;
  drawHead();
  redraw();
}, (connection) => {
  const was = state.connection.state;
  state.connection = connection;
  if (connection.state === "live" && was === "lost") refresh();
  drawConnection();
  if (connection.state !== was) redraw();
});
setInterval(drawConnection, 1000);
setInterval(() => { // a node that is alone has no versions: its file may have changed
  if (!state.me.cluster && !document.hidden) readLimits().then(redraw, () => {});
}, 10000);
