// The cluster: its ring, its nodes, what is being moved, and the commands that change it.
import { h } from "./dom.js";
import { list, plural, whole } from "./format.js";
import { clockWords, condition, gatewayTable, members, nodeTable } from "./nodes.js";
import { code, foreign, pill, table, time, waiting } from "./parts.js";
import { ring } from "./ring.js";
import { state } from "./state.js";

// open makes the view.
export function open() {
  return {
    title: () => "Cluster",
    draw() {
      const { view } = state;
      if (!view) return [h("h1", {}, "Cluster"), waiting()];
      const c = view.cluster;
      if (!c) return [h("h1", {}, "Cluster"), h("p", {}, "This node is alone: it belongs to no cluster."), nodeTable(view), gatewayTable(view)];
      return [
        h("h1", {}, "Cluster"), h("p", { class: "lead" }, decides(c)),
        c.waits && h("p", { class: "problem" }, foreign(c.waits)),
        h("div", { class: "two" }, ring(c.nodes, c.partitions, c.replicas), facts(c)),
        h("section", { id: "all-members", "aria-labelledby": "members" }, h("h2", { id: "members" }, "Members"), memberTable(view)),
        moves(c), gatewayTable(view), commands(c),
      ];
    },
  };
}

// decides says whether every key can be decided.
function decides(c) {
  const d = c.deciding;
  if (d.decides === "all") return [pill("good", "all"), " Every key can be decided."];
  if (d.decides === "some") return [pill("critical", "some"), ` ${d.undecided_partitions} of ${plural(d.partitions, "partition")} cannot be decided: `, foreign(d.why ?? "")];
  return [pill("critical", "none"), " No key can be decided: ", foreign(d.why ?? "")];
}

function facts(c) {
  const epochs = c.lowest_epoch === c.highest_epoch ? `${c.lowest_epoch}` : `${c.lowest_epoch} to ${c.highest_epoch}`;
  const rows = [
    ["cluster", h("code", {}, c.cluster || "none yet")], ["raft leader", c.leader ? foreign(c.leader) : pill("critical", "none is known")],
    ["agreed on", `version ${whole(c.version)}`], ["limits", `version ${whole(c.limits_version)}`],
    ["replicas", c.replicas === c.wanted_replicas ? `${c.replicas} of each partition` : `${c.replicas} of each partition; with more nodes it would be ${c.wanted_replicas}`],
    ["epochs", epochs], ["floors", c.floored ? `${plural(c.floored, "partition")} began ${c.floored === 1 ? "its" : "their"} epoch with a floor: buckets count as empty until then` : "none"],
    ["seen by", foreign(c.node)],
  ];
  return h("dl", { class: "words" }, rows.map(([name, text]) => h("div", { "data-key": name }, h("dt", {}, name), h("dd", {}, text))));
}

function memberTable(view) {
  const rows = members(view).filter((m) => m.status).map((m) => {
    const [kind, word, why] = condition(m);
    const { status: s, rates: r } = m;
    return {
      key: m.name, className: kind === "critical" ? "silent" : null,
      cells: [
        foreign(m.name), [pill(kind, word), why && h("span", { class: "why" }, foreign(why))], s.role, s.zone ? foreign(s.zone) : "–", s.owner, s.replica, clockWords(s, view.cluster.node),
        foreign(r?.version || "–"), r && !r.error ? time(new Date(r.started)) : "–", foreign(s.grpc), foreign(s.http),
      ],
    };
  });
  return table({
    caption: "Members of the cluster", hideCaption: true, rows,
    columns: [["node", ""], ["state", ""], ["raft", ""], ["zone", "wide"], ["owner of", "n"], ["replica of", "n"], ["clock", ""], ["version", ""], ["since", "wide"], ["gRPC", "wide"], ["HTTP", "wide"]],
  });
}

function moves(c) {
  const m = c.moves;
  const leaving = c.nodes.filter((n) => n.draining || n.leaving);
  const phases = Object.entries(m.phases ?? {}).map(([phase, n]) => `${n} ${phase}`);
  return h("section", { id: "all-moves", "aria-labelledby": "moves" }, h("h2", { id: "moves" }, "Moves"),
    m.left ? [h("p", {}, `${plural(m.left, "partition")} left, ${m.under_way} under way${phases.length ? `: ${list(phases)}` : ""}.`), h("progress", { max: c.partitions, value: c.partitions - m.left, "aria-label": `${c.partitions - m.left} of ${c.partitions} partitions are in place` })] : h("p", { class: "muted" }, `Nothing is being moved${phases.length ? `; the leader is ${list(phases)}` : ""}.`),
    leaving.map((n) => h("p", {}, foreign(n.name), n.leaving ? " is being removed" : " is being drained", n.replica ? `: ${plural(n.replica, "replica")} left there.` : ": nothing is left there, and it can be stopped.")));
}

function commands(c) {
  const name = c.nodes.at(-1)?.name ?? "NODE";
  return h("section", { id: "all-commands", "aria-labelledby": "commands" }, h("h2", { id: "commands" }, "Change the cluster"),
    h("p", { class: "muted" }, "Nodes are drained and removed with the command line, which has the cluster key."),
    h("div", { class: "codes" }, code(`jeton cluster drain ${name}`, "the command that drains"), code(`jeton cluster remove ${name}`, "the command that removes"), code("jeton cluster status", "the command that shows the cluster")));
}
