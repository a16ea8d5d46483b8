package rls

// ofRequest stands in metrics for all limits that requests define.
const ofRequest = "(request)"

// count counts a request that was decided, and its descriptors.
func (d *Door) count(p *plan) {
	if p.denied && !d.cfg.Shadow {
		d.metrics.denied.Inc()
	} else {
		d.metrics.admitted.Inc()
	}
	for i := range p.items {
		it := &p.items[i]
		if it.kind == free {
			d.metrics.free.Inc()
			continue
		}
		rule := ofRequest
		if it.rule != nil {
			rule = p.state.rules[it.rule.Index].label
		}
		if it.name != "" {
			rule = d.metrics.named(it.name, rule)
		}
		if result := p.result(it); result != "" {
			d.metrics.hits.WithLabelValues(rule, result).Add(float64(it.hits))
		}
	}
}

// result is what became of the hits of i; empty for those that were given back, which are counted there.
func (p *plan) result(i *item) string {
	group := together
	if i.kind == asked {
		group = p.asks[i.ask].group
	}
	switch {
	case i.kind == unlimited || i.kind == replaced:
		return passed
	case group == refund:
		return ""
	case p.over(i) && i.passes():
		return shadow
	case p.over(i):
		return over
	case p.denied && group != always:
		return uncharged
	default:
		return within
	}
}
