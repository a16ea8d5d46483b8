// The ring drawn: which node owns which share of the partitions, and keeps which share of their replicas.
import { h, s } from "./dom.js";
import { percent, visible } from "./format.js";
import { foreign } from "./parts.js";

const COLOURS = 9; // as many as the stylesheet has

// ring draws the members that keep something.
export function ring(nodes, partitions, replicas) {
  const owners = arcs(nodes, (n) => n.owner, 100, 78), keepers = arcs(nodes, (n) => n.replica, 72, 56);
  return h("figure", { class: "ring" },
    s("svg", { viewBox: "-104 -104 208 208", role: "img", "aria-label": "The ring: which share of the partitions each node owns, and of their replicas keeps; the table says the same" },
      owners, keepers,
      s("text", { y: -4, class: "ringtext" }, partitions), s("text", { y: 14, class: "ringtext small" }, "partitions"), s("text", { y: 30, class: "ringtext small" }, `${replicas} ${replicas === 1 ? "replica" : "replicas"} each`)),
    h("figcaption", {}, h("ul", { class: "legend" }, nodes.map((n, i) => h("li", {}, h("span", { class: `swatch node${i % COLOURS}`, "aria-hidden": "true" }), foreign(n.name), h("span", { class: "muted" }, ` owns ${percent(n.owner / (partitions || 1))}`)))),
      h("p", { class: "muted" }, "Outside: who decides. Inside: who keeps registers.")));
}

function arcs(nodes, value, outer, inner) {
  const total = nodes.reduce((sum, n) => sum + value(n), 0);
  let at = 0;
  return nodes.map((n, i) => {
    const share = total ? value(n) / total : 0;
    const path = share > 0 ? arc(at, at + share, outer, inner) : "";
    at += share;
    return path && s("path", { class: `node${i % COLOURS}`, d: path }, s("title", {}, `${visible(n.name)}: ${value(n)}`));
  });
}

// arc is a piece of a ring, from and to being shares of a turn.
export function arc(from, to, outer, inner) {
  const gap = to - from >= 1 ? 0 : 0.002;
  const point = (turn, r) => `${(r * Math.sin(turn * 2 * Math.PI)).toFixed(3)} ${(-r * Math.cos(turn * 2 * Math.PI)).toFixed(3)}`;
  const a = from + gap, b = Math.max(to - gap, a), half = (a + b) / 2;
  return `M${point(a, outer)}A${outer} ${outer} 0 0 1 ${point(half, outer)}A${outer} ${outer} 0 0 1 ${point(b, outer)}L${point(b, inner)}A${inner} ${inner} 0 0 0 ${point(half, inner)}A${inner} ${inner} 0 0 0 ${point(a, inner)}Z`;
}
