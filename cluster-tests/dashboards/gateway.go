package main

// gateway is about gateways: requests, decisions, outages, upstreams.
func gateway() board {
	const ofRoutes = atGateways + `, route=~"$route"`
	return board{
		name: "gateway", title: "Gateway", says: "Requests by outcome, how long they wait for decisions, what happens without the cluster, and upstreams.",
		picks: []pick{pickGateway, pickRoute}, marks: []mark{newLimits, {"Restart", "{{instance}} has started", `changes(process_start_time_seconds{instance=~"$instance"}[2m]) > 0`, "orange"}},
		rows: []row{
			{"Requests", []panel{
				{kind: chart, title: "Requests by outcome", says: "Requests a second. fail_open: let through without a decision; overloaded: turned away.", unit: perSecond, asks: one(rate("jeton_gateway_requests_total", ofRoutes, "outcome")+" > 0", "{{outcome}}"), stacked: true},
				{kind: chart, title: "Requests by route", says: "Requests a second.", unit: perSecond, asks: one(rate("jeton_gateway_requests_total", ofRoutes, "route"), "{{route}}")},
				{kind: chart, title: "Denied by limit", says: "Requests a second. Shadow: a trial, which denies nothing.", unit: perSecond, asks: one(rate("jeton_gateway_limits_total", ofRoutes+`, outcome="denied"`, "limit, shadow"), "{{limit}}, shadow {{shadow}}")},
			}},
			{"Decisions", []panel{
				{kind: chart, title: "How long requests wait for a decision", says: "Points are traces.", unit: seconds, asks: quantiles("jeton_gateway_decision_seconds", atGateways)},
				{kind: heat, title: "Waits for decisions", says: "How many requests a second waited how long.", unit: seconds, asks: buckets("jeton_gateway_decision_seconds", atGateways)},
				{kind: chart, title: "What decided", says: "Checks a second: the cluster, this gateway itself (edge), a denial that is known, or what counts in an outage: local, allow, deny.", unit: ops, asks: one(rate("jeton_fallback_checks_total", atGateways, "source"), "{{source}}"), stacked: true},
			}},
			{"Outages", []panel{
				{kind: chart, title: "Not decided", says: "Checks a second that the cluster did not decide, by the reason.", unit: ops, asks: one(rate("jeton_fallback_undecided_total", atGateways, "reason"), "{{reason}}"), steps: []step{{0.001, orange}}},
				{kind: chart, title: "Outage", says: "1 while the cluster does not decide all checks of the gateway.", unit: count, asks: one("jeton_fallback_outage{"+atGateways+"}", "{{instance}}"), steps: []step{{1, red}}},
				{kind: chart, title: "Hedges and retries", says: "Calls a second that went to a further node: because one was silent, or had failed.", unit: ops, asks: []ask{
					{rate("jeton_client_hedges_total", atGateways, "instance"), "hedged, {{instance}}"}, {rate("jeton_client_retries_total", atGateways, "instance"), "tried again, {{instance}}"},
				}},
			}},
			{"The gateway itself", []panel{
				{kind: chart, title: "Requests under way", says: "All, and those that are held until their tokens are there.", unit: count, asks: []ask{
					{"jeton_gateway_requests_in_flight{" + atGateways + "}", "{{instance}}"}, {"jeton_gateway_requests_held{" + atGateways + "}", "held, {{instance}}"},
				}},
				{kind: chart, title: "Upstreams", says: "1 while the instance accepts connections.", unit: count, asks: one("min by (upstream, url) (jeton_gateway_upstream_up{"+atGateways+"})", "{{upstream}} {{url}}")},
				{kind: chart, title: "Answered by the gateway itself", says: "For another reason than a decision: upstream_failed and upstream_timeout are of what stands behind.", unit: perSecond, asks: one(rate("jeton_gateway_failures_total", atGateways, "reason"), "{{reason}}")},
				{kind: table, title: "Documents", says: "1 where the document on the disk is in force.", unit: count, asks: one("jeton_gateway_config_current{"+atGateways+"}", "{{instance}}"), steps: nil},
			}},
		},
	}
}
