package descriptors

// A Step says how one entry of a descriptor was matched.
type Step struct {
	exact    bool
	pattern  string // what it was matched by, if that ends in *
	shared   bool
	toMetric bool
}

// Match finds the rule of a descriptor: the one as deep in the file as the descriptor is long. At each level the entry's value counts
// first, then the first pattern in the file that matches it, then the descriptor without a value; there is no way back. The rule is nil
// if there is none. The steps are appended to steps, for [AppendKey] and [MetricPath].
func (d *Domain) Match(entries []Entry, steps []Step) (*Rule, []Step) {
	at := d.top
	for i, e := range entries {
		if at == nil {
			break
		}
		n, exact := at.find(e)
		if n == nil {
			break
		}
		steps = append(steps, Step{exact: exact, pattern: n.pattern, shared: n.shared, toMetric: n.toMetric})
		if i == len(entries)-1 {
			return n.rule, steps
		}
		at = n.next
	}
	return nil, steps
}
