package main

// nodes is about the nodes of a cluster: what each does, its disk and its memory, and what they agree on.
func nodes() board {
	return board{
		name: "nodes", title: "Nodes", says: "What each node does, how late it is, its disk, its memory and its clock, and how the cluster is.",
		picks: []pick{pickCluster, pickNode}, marks: []mark{nodeRestarts},
		rows: []row{
			{"Work", []panel{
				{kind: chart, title: "Calls", says: "Calls of gRPC a second, by node. Of streams each check counts.", unit: perSecond, asks: one(rate("jeton_rpc_seconds_count", atNodes, "instance"), "{{instance}}")},
				{kind: chart, title: "Calls by method and code", says: "The ten that are most. Unavailable: the node cannot decide; ResourceExhausted: a denial, or an overload.", unit: perSecond, asks: one("topk(10, "+rate("jeton_rpc_seconds_count", atNodes, "method, code")+")", "{{method}} {{code}}")},
				{kind: chart, title: "How late calls are answered", says: "99 in a hundred calls take no longer, by node. Points are traces.", unit: seconds, asks: one(`histogram_quantile(0.99, sum by (le, instance) (rate(jeton_rpc_seconds_bucket{`+atNodes+`}[$__rate_interval])))`, "{{instance}}")},
			}},
			{"Disk and replicas", []panel{
				{kind: chart, title: "How long writes take", says: "99 in a hundred writes with their fsync take no longer, by node. First checks of keys wait for those of a majority.", unit: seconds, asks: one(`histogram_quantile(0.99, sum by (le, instance) (rate(jeton_storage_commit_seconds_bucket{`+atNodes+`}[$__rate_interval])))`, "{{instance}}"), steps: []step{{0.1, orange}}},
				{kind: heat, title: "Writes", says: "How many writes a second took how long.", unit: seconds, asks: buckets("jeton_storage_commit_seconds", atNodes)},
				{kind: chart, title: "How late other nodes answer", says: "Round trips of reservations to another node, its fsync included: 99 in a hundred take no longer.", unit: seconds, asks: one(`histogram_quantile(0.99, sum by (le, peer) (rate(jeton_peer_seconds_bucket{`+atNodes+`}[$__rate_interval])))`, "to {{peer}}")},
			}},
			{"Reservations", []panel{
				{kind: chart, title: "Reservations", says: "Needed: a check waited for it. Ahead: none did.", unit: ops, asks: one(rate("jeton_reservations_total", atNodes, "kind"), "{{kind}}"), stacked: true},
				{kind: chart, title: "Refused by replicas", says: "By what stopped them. Taken and old_generation are what remains of another owner after a failover.", unit: ops, asks: one(rate("jeton_reservation_refusals_total", atNodes, "verdict"), "{{verdict}}")},
				{kind: chart, title: "Replicas that did not answer", says: "Messages with reservations a second that were lost, by the replica's node.", unit: ops, asks: one(rate("jeton_replica_lost_total", atNodes, "node"), "{{node}}"), steps: []step{{0.001, orange}}},
			}},
			{"Memory", []panel{
				{kind: chart, title: "Keys in memory", says: "Awake keys, and dormant ones, of which only reserved line is kept.", unit: count, asks: []ask{
					{"sum by (instance) (jeton_awake_actors{" + atNodes + "})", "awake, {{instance}}"}, {"sum by (instance) (jeton_dormant_keys{" + atNodes + "})", "dormant, {{instance}}"},
				}},
				{kind: chart, title: "Memory of keys", says: "What keys take, and the most that they may take (--memory); 0 for no bound.", unit: bytes, asks: []ask{
					{"jeton_actor_memory_bytes{" + atNodes + "}", "{{instance}}"}, {"jeton_actor_memory_budget_bytes{" + atNodes + "}", "budget, {{instance}}"},
				}},
				{kind: chart, title: "Given up for want of memory", says: "What was forgotten early or refused.", unit: ops, asks: one(rate("jeton_shed_total", atNodes, "what"), "{{what}}"), steps: []step{{0.001, orange}}},
				{kind: chart, title: "Memory of the process", says: "As the system counts it.", unit: bytes, asks: one("process_resident_memory_bytes{"+atNodes+"}", "{{instance}}")},
			}},
			{"Cluster", []panel{
				{kind: chart, title: "Clock", says: "How far the clocks of a majority are ahead of the node's. At 250 ms it decides nothing.", unit: seconds, asks: one("abs(jeton_cluster_clock_offset_seconds{"+atNodes+"})", "{{instance}}"), steps: []step{{0.1, orange}, {0.25, red}}},
				{kind: chart, title: "Partitions", says: "Those that move, those that have lost a replica and are in danger, and those that cannot be decided.", unit: count, asks: []ask{
					{"max(jeton_cluster_moving_partitions{" + atNodes + "})", "moving"}, {"max(jeton_cluster_endangered_partitions{" + atNodes + "})", "in danger"}, {"max(jeton_cluster_undecided_partitions{" + atNodes + "})", "not decided"},
				}},
				{kind: chart, title: "Agreed state", says: "The version that each node has applied. One that stays behind does not hear the leader.", unit: count, asks: one("jeton_cluster_state_version{"+atNodes+"}", "{{instance}}")},
				{kind: table, title: "Who leads", says: "1 for the leader of the cluster. Any node decides; the leader changes limits, members and places.", unit: count, asks: one("jeton_cluster_leads{"+atNodes+"}", "{{instance}}")},
			}},
		},
	}
}
