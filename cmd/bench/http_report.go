package bench

import (
	"io"
	"strings"
	"time"
)

// An HTTPReport is what was measured of a gateway. Times are in nanoseconds.
type HTTPReport struct {
	Nodes       int    `json:"nodes"`
	By          string `json:"by"`
	Keys        string `json:"keys"`
	KeyCount    int    `json:"key_count"`
	Connections int    `json:"connections"`
	Rows        Rows   `json:"rows"`
	// Comparisons are the pairs that the rows were made of, where there are any.
	Comparisons []HTTPComparison `json:"comparisons"`
}

// An HTTPComparison is the pairs of one case.
type HTTPComparison struct {
	Case  string     `json:"case"`
	Title string     `json:"title"`
	Pairs []HTTPPair `json:"pairs"`
}

// An HTTPPair is one measurement of each side: the gateway is the node, its nodes included, and what limits nothing the
// other. Each request is a check. The service of both is also the upstream that stands behind them.
type HTTPPair struct {
	Pair

	// Which processes took the processor time for a request, on both sides.
	NodeCPU  []CPUPart `json:"node_cpu"`
	OtherCPU []CPUPart `json:"other_cpu"`
}

// add takes in what was measured in a case.
func (r *HTTPReport) add(k httpCase, values []Spread[float64], pairs []HTTPPair, err error) {
	row := kase{name: k.name, title: k.title}
	r.Rows = append(r.Rows, row.rows(mode{durabilityOfHTTP, k.goals}, values, err)...)
	if len(pairs) > 0 {
		r.Comparisons = append(r.Comparisons, HTTPComparison{Case: k.name, Title: k.title, Pairs: pairs})
	}
}

// Write prints the report for a person: the pairs, and then the table in Markdown.
func (r *HTTPReport) Write(w io.Writer) error {
	p := &printer{w: w}
	for _, c := range r.Comparisons {
		c.write(p)
	}
	clients := count(float64(r.KeyCount)) + " clients, " + r.Keys
	if r.Keys == One {
		clients = "one client"
	}
	by := "API keys"
	if r.By == ByHeader {
		by = "a header"
	}
	p.say("%d nodes in memory mode, %s, told apart by %s\n\n", r.Nodes, clients, by)
	if p.err != nil {
		return p.err
	}
	return r.Rows.Write(w)
}

func (c *HTTPComparison) write(p *printer) {
	p.say("%s\n\n", c.Title)
	p.say("%4s  %12s  %12s  %6s   %12s  %12s  %9s   %9s\n", "pair", "gateway", "bare", "ratio", "gateway p50", "bare p50", "more", "by CPU")
	for i, pair := range c.Pairs {
		p.say("%4d  %10s/s  %10s/s  %6.3f   %12s  %12s  %9s   %9.3f\n", i+1,
			count(pair.Node.ChecksPerSecond), count(pair.Other.ChecksPerSecond), pair.Ratio,
			short(pair.Node.Latency.P50), short(pair.Other.Latency.P50), short(pair.P50More), pair.CPURatio)
	}
	p.say("\nprocessor time per request: %s; bare: %s\n\n",
		medianParts(c.Pairs, func(p HTTPPair) []CPUPart { return p.NodeCPU }),
		medianParts(c.Pairs, func(p HTTPPair) []CPUPart { return p.OtherCPU }))
}

// medianParts are the medians of every part of one side.
func medianParts(pairs []HTTPPair, of func(HTTPPair) []CPUPart) string {
	var said []string
	for i, part := range of(pairs[0]) {
		cpu := spreadOver(pairs, func(p HTTPPair) time.Duration { return of(p)[i].CPU })
		said = append(said, part.Part+" "+short(cpu.Median))
	}
	return strings.Join(said, " + ")
}
