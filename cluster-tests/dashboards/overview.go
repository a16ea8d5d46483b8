package main

// What is picked: the nodes, the limits, the gateways.
const (
	atNodes    = `job=~"$job", instance=~"$instance"`
	ofCluster  = `job=~"$job"`
	ofLimits   = `job=~"$job", limit=~"$limit"`
	atGateways = `instance=~"$instance"`
)

var (
	pickCluster  = pick{"job", "Cluster", "jeton_cluster_nodes", false}
	pickNode     = pick{"instance", "Node", `jeton_cluster_nodes{job=~"$job"}`, false}
	pickLimit    = pick{"limit", "Limit", `jeton_decisions_total{job=~"$job"}`, false}
	pickGateway  = pick{"instance", "Gateway", "jeton_gateway_requests_total", false}
	pickRoute    = pick{"route", "Route", `jeton_gateway_requests_total{instance=~"$instance"}`, false}
	nodeRestarts = mark{"Restart", "{{instance}} has started", `changes(process_start_time_seconds{job=~"$job"}[2m]) > 0`, "orange"}
	newLimits    = mark{"Limits changed", "{{instance}} goes by other limits", "changes(jeton_client_limits_version[2m]) > 0", "blue"}
)

// overview is what to look at first: whether the limits hold and how late decisions are.
func overview() board {
	return board{
		name: "overview", title: "Overview", says: "Whether every key is decided, what limits admit and deny, and how late decisions are.",
		picks: []pick{pickCluster, pickLimit}, marks: []mark{nodeRestarts, newLimits},
		rows: []row{
			{"Now", []panel{
				{kind: number, title: "Nodes alive", says: "Members of the cluster that answer the others, and all members.", unit: count, asks: []ask{
					{"min(jeton_cluster_alive_nodes{" + ofCluster + "})", "alive"}, {"max(jeton_cluster_nodes{" + ofCluster + "})", "members"},
				}},
				{kind: number, title: "Partitions not decided", says: "Their keys cannot be decided: a majority of their replicas is missing.", unit: count, asks: one("max(jeton_cluster_undecided_partitions{"+ofCluster+"})", ""), steps: []step{{1, red}}},
				{kind: number, title: "Partitions in danger", says: "They have lost a replica. If one more is lost, their keys cannot be decided.", unit: count, asks: one("max(jeton_cluster_endangered_partitions{"+ofCluster+"})", ""), steps: []step{{1, orange}}},
				{kind: number, title: "Denied", says: "The share of what limits said that was a denial, of checks at nodes.", unit: share, asks: one(`sum(rate(jeton_decisions_total{`+ofLimits+`, outcome="denied"}[$__rate_interval])) / sum(rate(jeton_decisions_total{`+ofLimits+`}[$__rate_interval]))`, "")},
				{kind: number, title: "Passed without a decision", says: "Requests a second that gateways let pass because the cluster decided nothing (on_unavailable: allow).", unit: perSecond, asks: one(`sum(rate(jeton_gateway_requests_total{outcome="fail_open"}[$__rate_interval]))`, ""), steps: []step{{0.001, red}}},
				{kind: number, title: "Hot keys", says: "Keys that have a fifth of the checks of their node or more, and 100 a second or more.", unit: count, asks: one("sum(jeton_hot_keys{"+ofCluster+"})", "")},
			}},
			{"Decisions", []panel{
				{kind: chart, title: "What limits said", says: "Decisions a second at nodes, by outcome. Spared: it would have allowed what another limit denied.", unit: ops, asks: one(rate("jeton_decisions_total", ofLimits, "outcome"), "{{outcome}}"), stacked: true},
				{kind: chart, title: "Denials by limit", says: "The ten limits that deny most.", unit: ops, asks: one(`topk(10, sum by (limit) (rate(jeton_decisions_total{`+ofLimits+`, outcome="denied"}[$__rate_interval])))`, "{{limit}}")},
			}},
			{"Latency", []panel{
				{kind: chart, title: "How late decisions are", says: "From a check to its decision, in the node that decides. Points are traces.", unit: seconds, asks: quantiles("jeton_check_seconds", ofCluster)},
				{kind: heat, title: "Latency of checks", says: "How many checks a second took how long. A second band is what waits for a majority's fsync.", unit: seconds, asks: buckets("jeton_check_seconds", ofCluster)},
			}},
		},
	}
}
