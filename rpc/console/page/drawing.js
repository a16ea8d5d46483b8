// The drawing of a bucket.
import { line, share, steps } from "./bucket.js";
import { h, s } from "./dom.js";
import { duration, whole } from "./format.js";
import { count } from "./words.js";

const WIDTH = 1000, BAR = 34, HEIGHT = 60; // of the drawing, in its own units

const LEGEND = { spent: "spent", leased: "leased to gateways and clients", reserved: "reserved by the owner", returned: "given back", free: "free", skipped: "before the line of this window" };

// drawing is a bucket on its line, or, where it counts entries, what of them counts from now on.
export function drawing(b) {
  const onLine = line(b);
  return onLine ? lineDrawing(b, onLine) : stepDrawing(b, steps(b));
}

function lineDrawing(b, { to, pieces, marks }) {
  const x = (at) => Math.min(Math.max((at / to) * WIDTH, 0), WIDTH);
  const kinds = [...new Set(pieces.map((p) => p.kind))];
  return [
    h("div", { class: "line" },
      h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, "now"), h("span", {}, `now + ${duration(to)}`)),
      s("svg", { viewBox: `0 0 ${WIDTH} ${BAR}`, preserveAspectRatio: "none", class: "bucketline", role: "img", "aria-label": `The line of the bucket from now to now + ${duration(to)}; the same follows in words` },
        hatches(),
        pieces.map((p) => s("rect", { class: p.kind, x: x(p.from), y: 0, width: Math.max(x(p.to) - x(p.from), 2), height: BAR }))),
      h("div", { class: "marks", "aria-hidden": "true" }, marks.map((m) => mark(m, x(m.at) / WIDTH)))),
    h("ul", { class: "legend", "aria-hidden": "true" }, kinds.map((k) => h("li", {}, h("span", { class: `swatch ${k}` }), LEGEND[k]))),
  ];
}

// hatches are patterns, so that pieces are told apart without their colours too.
const hatches = () => s("defs", {}, [["hatch-leased", 45], ["hatch-reserved", -45]].map(([id, turn]) =>
  s("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${turn})` }, s("rect", { width: 8, height: 8, class: `${id}-ground` }), s("rect", { width: 3, height: 8, class: `${id}-stripe` }))));

function mark(m, share) {
  const end = share > 0.5;
  return h("span", { "data-key": m.kind, class: `mark ${m.kind} ${end ? "left" : ""}`, style: end ? { right: `${(1 - share) * 100}%` } : { left: `${share * 100}%` } }, `${m.text}: now + ${duration(m.at)}`);
}

// stepDrawing shows how what counts falls from now on.
function stepDrawing(b, all) {
  const capacity = Math.max(count(b.limit), 1), to = Math.max(all.at(-1).at, 1), most = Math.max(all[0].used, 1);
  const x = (at) => (at / to) * WIDTH, y = (used) => HEIGHT - (used / most) * HEIGHT;
  let path = `M0 ${HEIGHT}L0 ${y(all[0].used)}`;
  for (const step of all.slice(1)) path += `H${x(step.at)}V${y(step.used)}`;
  path += `V${HEIGHT}H0Z`;
  const used = all[0].used;
  return [
    h("div", { class: "line" },
      h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, "0"), h("span", {}, whole(count(b.limit)))),
      s("svg", { viewBox: `0 0 ${WIDTH} ${BAR}`, preserveAspectRatio: "none", class: "bucketline", role: "img", "aria-label": `${whole(used)} of ${whole(count(b.limit))} count now` },
        s("rect", { class: "free", x: 0, y: 0, width: WIDTH, height: BAR }),
        used > 0 && s("rect", { class: "spent", x: 0, y: 0, width: Math.max(share(b) * WIDTH, 2), height: BAR }),
        b.held > 0 && s("rect", { class: "reserved", x: share(b) * WIDTH - Math.min((b.held / capacity) * WIDTH, share(b) * WIDTH), y: 0, width: (b.held / capacity) * WIDTH, height: BAR }))),
    all.length > 2 && h("figure", { class: "steps" },
      s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", class: "bucketsteps", role: "img", "aria-label": `What counts now ends in ${duration(to)}` },
        s("path", { class: "spent", d: path })),
      h("figcaption", { class: "ends" }, h("span", {}, `${whole(used)} count now, and end one after another`), h("span", {}, `now + ${duration(to)}`))),
  ];
}
