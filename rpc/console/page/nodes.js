// Tables of nodes and gateways.
import { h } from "./dom.js";
import { bytes, milliseconds, plural, seconds, short } from "./format.js";
import { bad, bar, foreign, pill, table, time } from "./parts.js";

// members are the nodes of a view, each with what the cluster's status and its own rates say of it.
export function members(view) {
  const by = new Map(view.nodes.map((n) => [n.name, { name: n.name, rates: n }]));
  for (const s of view.cluster?.nodes ?? []) by.set(s.name, { ...(by.get(s.name) ?? { name: s.name }), status: s });
  return [...by.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

// condition is how a node is: a kind and words, and why.
export function condition({ status, rates }) {
  if (status && !status.alive) return ["critical", "dead", `not heard of for ${seconds(status.dead_seconds ?? 0)}`];
  if (status?.answering === "unreachable") return ["critical", "silent", `no answer for ${seconds(status.silent_seconds ?? 0)}`];
  if (rates?.error) return ["warning", "does not tell", rates.error];
  if (status?.answering === "suspect") return ["warning", "suspect", "it has not answered the last ping in time"];
  if (status?.refuses) return ["warning", "refuses", status.refuses];
  if (rates?.ready) return ["warning", "degraded", rates.ready];
  if (status?.leaving) return ["notice", "leaving", "it is being removed"];
  if (status?.draining) return ["notice", "draining", "its partitions are being moved away"];
  if (!rates) return ["warning", "unknown", "nothing is known of what it does"];
  return ["good", "up", ""];
}

// clockWords is how far a node's clock is from that of the node that tells.
export function clockWords(status, asked) {
  if (!status) return "–";
  if (status.name === asked) return "reference";
  const ms = status.clock_ahead_ms;
  if (ms === undefined || ms === null) return "–";
  if (Math.abs(ms) < 0.5) return "same";
  return `${milliseconds(Math.abs(ms))} ${ms > 0 ? "ahead" : "behind"}`;
}

// nodeTable is what each node does now.
export function nodeTable(view) {
  const inCluster = Boolean(view.cluster);
  const columns = [["node", ""], ["state", ""], inCluster && ["role", "wide"], ["checks /s", "n"], ["p99", "n"], ["fsync p99", "n wide"], inCluster && ["owner of", "n"], inCluster && ["replica of", "n wide"], inCluster && ["clock", "wide"], ["keys awake", "n wide"], ["memory", "b"], ["disk", "b"]].filter(Boolean);
  const rows = members(view).map((m) => {
    const [kind, word, why] = condition(m);
    const { rates: r, status: s } = m;
    const tells = r && !r.error;
    const cells = [
      h("a", { href: "#/cluster" }, foreign(m.name)),
      [pill(kind, word), why && h("span", { class: "why" }, foreign(why))],
      inCluster && (s?.role ?? "–"),
      tells ? short(r.allowed + r.denied + r.errors) : "–",
      tells ? milliseconds(r.p99_ms) : "–",
      tells ? milliseconds(r.fsync_p99_ms) : "–",
      inCluster && (s ? s.owner : "–"),
      inCluster && (s ? s.replica : "–"),
      inCluster && clockWords(s, view.cluster.node),
      tells ? short(r.awake) : "–",
      tells ? room(r.memory_held, r.memory_budget) : "–",
      tells ? diskRoom(r) : "–",
    ].filter((c) => c !== false);
    return { key: m.name, className: tells && kind !== "critical" ? null : "silent", cells };
  });
  return table({ caption: "Nodes, and what each does now", hideCaption: true, columns, rows });
}

function room(held, budget) {
  if (!budget) return bytes(held);
  return [bar(held / budget, held / budget > 0.85 ? "hot" : ""), h("span", { class: "of" }, `${bytes(held)} of ${bytes(budget)}`)];
}

function diskRoom(r) {
  const whole = r.disk_used + r.disk_free;
  if (!whole) return "–";
  return [h("span", { class: r.disk_free / whole < 0.1 ? "warn" : null }, `${bytes(r.disk_free)} free`), h("span", { class: "of" }, `${bytes(r.disk_used)} used`)];
}

// adminURL is the address of a gateway's console; empty where it cannot be told from what the gateway knows of itself.
export function adminURL(g) {
  if (!g.admin) return "";
  const at = g.admin.includes("://") ? g.admin : `${location.protocol}//${g.admin}`;
  try {
    const url = new URL(at);
    if (!["http:", "https:"].includes(url.protocol) || ["0.0.0.0", "[::]", ""].includes(url.hostname)) return "";
    return url.origin + "/";
  } catch {
    return "";
  }
}

// gatewayTable is what gateways have told lately; nothing where none has.
export function gatewayTable(view) {
  const all = view.gateways ?? [];
  if (!all.length) return null;
  const rows = all.map((g) => {
    const url = adminURL(g);
    const others = Object.entries(g.requests ?? {}).filter(([name, n]) => n > 0 && !["admitted", "denied", "fail_open", "unavailable"].includes(name)).map(([name, n]) => `${short(n)} ${name.replaceAll("_", " ")}`);
    return {
      key: g.name,
      cells: [[url ? h("a", { href: url, rel: "noreferrer", title: url }, foreign(g.name)) : foreign(g.name), g.silent_seconds > 0 && [" ", pill("warning", `silent for ${seconds(Math.round(g.silent_seconds))}`)]], short(g.allowed), short(g.denied), bad(g.failed_open), bad(g.failed_closed), milliseconds(g.p50_ms), milliseconds(g.p99_ms), others.join(", ") || "–", foreign(g.version ?? "–"), time(new Date(g.started))],
    };
  });
  return h("section", { id: "all-gateways", "aria-labelledby": "gateways" }, h("h2", { id: "gateways" }, "Gateways"),
    table({
      caption: `${plural(all.length, "gateway")} that told this cluster lately what they do`, hideCaption: true, rows,
      columns: [["gateway", ""], ["allowed /s", "n"], ["denied /s", "n"], ["failed open /s", "n"], ["failed closed /s", "n wide"], ["p50", "n wide"], ["p99", "n"], ["other requests /s", "wide"], ["version", "wide"], ["since", "wide"]],
    }));
}
