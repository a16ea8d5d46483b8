// The chart of the last five minutes.
import { h } from "./dom.js";
import { plural, short } from "./format.js";
import { MINUTES } from "./state.js";
import uPlot from "./uplot/uPlot.esm.js";

// Series are what the chart shows: the name in the history, the words, and the CSS property of its colour.
export const SERIES = [["allowed", "allowed", "--allowed"], ["denied", "denied", "--denied"], ["failed_open", "failed open", "--open"], ["failed_closed", "failed closed", "--closed"], ["errors", "errors", "--errors"]];

const HEIGHT = 200;

// chart draws a history in an element, until stop is called.
export function chart(box, history) {
  let plot = null;
  const probe = h("span", { hidden: true });
  box.append(probe);
  // A canvas is given colours as they are computed: what a property says depends on light and dark.
  const colour = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const data = () => [history.at, ...SERIES.map(([name]) => history[name])];

  function make() {
    plot?.destroy();
    const grid = { stroke: colour("--grid"), width: 1 };
    const axis = { stroke: colour("--muted"), grid, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    plot = new uPlot({
      width: Math.max(box.clientWidth, 200),
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 6 } },
      hooks: { setCursor: [point] },
      scales: { x: { time: true, range: () => span(history) }, y: { range: (_, lo, hi) => [0, Math.max(hi * 1.1, 1)] } },
      axes: [
        { ...axis, size: 28, space: 70, values: (_, at) => at.map((t) => new Date(t * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: t % 60 ? "2-digit" : undefined })) },
        { ...axis, size: 48, space: 40, values: (_, at) => at.map((n) => short(n)) },
      ],
      series: [{}, ...SERIES.map(([name, , ink]) => ({
        stroke: colour(ink),
        width: 1.75,
        fill: name === "allowed" ? colour("--allowed-soft") : undefined,
        points: { show: false },
        spanGaps: false,
      }))],
    }, data(), box);
  }

  const tip = h("p", { class: "tip", hidden: true });
  function point(u) {
    const i = u.cursor.idx;
    const at = i === null || i === undefined ? undefined : history.at[i];
    tip.hidden = at === undefined || history.allowed[i] === null || u.cursor.left < 0;
    if (tip.hidden) return;
    tip.textContent = `${new Date(at * 1000).toLocaleTimeString("en-GB")}: ${SERIES.map(([name, words]) => `${short(history[name][i])} ${words}`).join(", ")} a second`;
  }

  const resized = new ResizeObserver(() => plot?.setSize({ width: Math.max(box.clientWidth, 200), height: HEIGHT }));
  make();
  box.append(tip);
  resized.observe(box);
  addEventListener("themechange", make);
  return {
    box,
    draw: () => plot.setData(data()),
    stop() {
      resized.disconnect();
      removeEventListener("themechange", make);
      plot.destroy();
    },
  };
}

// span is what the chart shows: all of the history, and a minute at least.
function span(history) {
  const now = Date.now() / 1000;
  return [Math.max(now - MINUTES * 60, Math.min(history.at[0] ?? now, now - 60)), now];
}

// inWords is the chart as text.
export function inWords(history) {
  const known = history.allowed.filter((n) => n !== null).length;
  if (!known) return "There are no rates yet: they come with the second view.";
  const parts = SERIES.map(([name, words]) => {
    const all = history[name].filter((n) => n !== null);
    const top = Math.max(...all);
    if (top === 0) return `nothing ${words === "errors" ? "failed with an error" : words}`;
    return `${words} ${short(Math.min(...all))} to ${short(top)} a second, now ${short(all.at(-1))}`;
  });
  const span = Math.round(history.at.at(-1) - history.at[0]);
  return `In the last ${span < 90 ? plural(Math.max(span, 1), "second") : `${Math.round(span / 60)} minutes`}: ${parts.join("; ")}.`;
}
