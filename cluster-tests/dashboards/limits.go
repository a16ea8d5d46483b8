package main

// limits is about one limit or several.
func limits() board {
	return board{
		name: "limits", title: "Limits", says: "What each limit admits and denies, how full the buckets of its busiest keys are, and its holds and leases.",
		picks: []pick{pickCluster, pickLimit}, marks: []mark{newLimits, nodeRestarts},
		rows: []row{
			{"Decisions", []panel{
				{kind: chart, title: "Allowed", says: "Checks a second that a limit allowed, at nodes.", unit: ops, asks: one(`sum by (limit) (rate(jeton_decisions_total{`+ofLimits+`, outcome="allowed"}[$__rate_interval]))`, "{{limit}}")},
				{kind: chart, title: "Denied", says: "Checks a second that a limit denied, at nodes. Gateways repeat denials for themselves: what clients see is on the next chart.", unit: ops, asks: one(`sum by (limit) (rate(jeton_decisions_total{`+ofLimits+`, outcome="denied"}[$__rate_interval]))`, "{{limit}}")},
				{kind: chart, title: "Denied at gateways", says: "Requests a second that a limit denied, as clients saw it. Shadow: a trial, which denies nothing.", unit: ops, asks: one(`sum by (limit, shadow) (rate(jeton_gateway_limits_total{limit=~"$limit", outcome="denied"}[$__rate_interval]))`, "{{limit}}, shadow {{shadow}}")},
			}},
			{"No decision", []panel{
				{kind: chart, title: "Errors", says: "Checks a second that nodes answered with an error, by limit and code. Who asked may have got a decision from another node.", unit: ops, asks: one(rate("jeton_undecided_total", ofLimits, "limit, code"), "{{limit}}, {{code}}"), steps: []step{{0.001, orange}}},
				{kind: chart, title: "Failed open", says: "Checks a second that gateways let pass without a decision.", unit: ops, asks: one(`sum by (limit) (rate(jeton_gateway_fail_open_total{limit=~"$limit"}[$__rate_interval]))`, "{{limit}}"), steps: []step{{0.001, orange}}},
				{kind: chart, title: "Failed closed", says: "Checks a second that gateways refused for want of a decision.", unit: ops, asks: one(`sum by (limit) (rate(jeton_gateway_fail_closed_total{limit=~"$limit"}[$__rate_interval]))`, "{{limit}}"), steps: []step{{0.001, orange}}},
			}},
			{"Busiest keys", []panel{
				{kind: chart, title: "How full buckets are of use", says: "Of limits with gauges: the used share of the buckets of their busiest keys. At 1, the key is denied. Keys are named by hashes, which /debug/actors explains.", unit: share, asks: one("jeton_bucket_used_ratio{"+ofLimits+"}", "{{limit}} {{key}}"), steps: []step{{0.9, orange}}},
				{kind: chart, title: "Tokens left", says: "Of the same buckets.", unit: count, asks: one("jeton_bucket_remaining{"+ofLimits+"}", "{{limit}} {{key}}")},
				{kind: chart, title: "Hot keys", says: "The share of its node's checks that a hot key has.", unit: share, asks: one("jeton_hot_key_share{"+ofCluster+"}", "{{instance}} {{key}}"), steps: []step{{0.5, orange}}},
			}},
			{"Holds and leases", []panel{
				{kind: chart, title: "Holds", says: "Holds a second that were taken, and that are known to have expired before they were settled.", unit: ops, asks: []ask{
					{rate("jeton_holds_total", ofLimits, "limit"), "taken, {{limit}}"}, {rate("jeton_holds_expired_total", ofLimits, "limit"), "expired, {{limit}}"},
				}},
				{kind: chart, title: "Settled tokens", says: "Tokens a second of holds that were settled: held at first, charged in the end, and charged beyond what was held.", unit: ops, asks: one(rate("jeton_settled_tokens_total", ofLimits, "tokens"), "{{tokens}}")},
				{kind: chart, title: "Leases", says: "What gateways and clients got when they asked to decide by themselves.", unit: ops, asks: one(rate("jeton_leases_total", ofLimits, "limit, outcome"), "{{limit}}, {{outcome}}")},
			}},
		},
	}
}
