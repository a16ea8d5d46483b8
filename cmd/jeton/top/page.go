package top

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/debug"
)

// page is the text on the screen, where there is no list.
func (s *Screen) page() []line {
	p := s.place()
	switch {
	case s.help:
		return helpLines(s.alone())
	case p == nil:
		return nil
	case p.what == bucketPlace:
		return s.bucketLines(p)
	case s.view == nil:
		return nil
	case p.what == Nodes:
		for i := range s.view.Nodes {
			if n := &s.view.Nodes[i]; n.Name == p.name {
				return s.facts("node "+shown(n.Name), factsOfNode(n))
			}
		}
	case p.what == Gateways:
		for i := range s.view.Gateways {
			if g := &s.view.Gateways[i]; g.Name == p.name {
				return s.facts("gateway "+shown(g.Name), factsOfGateway(g))
			}
		}
	case len(s.view.Problems) > 0:
		return append([]line{{"problems, the worst first", strong}}, problemLines(s.view.Problems, s.width)...)
	default:
		return nil // the head says so
	}
	return []line{{shown(p.name) + " is not there any more", warning}}
}

// bucketLines show a bucket on its line, and what is wrong if it cannot be had.
func (s *Screen) bucketLines(p *place) []line {
	name := p.limits[p.at]
	title := fmt.Sprintf("%s of %s", shown(name), shown(p.name))
	if n := len(p.limits); n > 1 {
		title += fmt.Sprintf("  (limit %d of %d: tab)", p.at+1, n)
	}
	lines := []line{{title, strong}}
	if s.bucket != "" {
		for _, text := range wrapped(shown(s.bucket), s.width) {
			lines = append(lines, line{text, critical})
		}
	}
	if s.inside == nil || s.inside.Key != p.name || s.inside.Rule.Name != name {
		if s.bucket == "" {
			lines = append(lines, line{"looking", quiet})
		}
		return lines
	}
	var text strings.Builder
	_ = debug.WriteBucketWithin(&text, s.width, *s.inside) // to memory
	_, below, _ := strings.Cut(text.String(), "\n")
	for said := range strings.Lines(below) {
		lines = append(lines, line{shown(strings.TrimSuffix(said, "\n")), normal})
	}
	return lines
}

// A fact is a name and what there is to say about it. Both are safe.
type fact struct{ name, text string }

// facts are a title and facts below it, as wide as the screen.
func (s *Screen) facts(title string, facts []fact) []line {
	const names = 14
	lines := []line{{title, strong}}
	for _, f := range facts {
		for i, text := range wrapped(f.text, s.width-names-gap) {
			name := f.name
			if i > 0 {
				name = ""
			}
			lines = append(lines, line{blank + pad(name, names-len(blank), false) + strings.Repeat(" ", gap) + text, normal})
		}
	}
	return lines
}

func factsOfNode(n *activity.NodeRates) []fact {
	facts := []fact{{"state", state(n)}, {"version", shown(orNone(n.Version))}}
	if n.Error != "" {
		return facts
	}
	return append(facts,
		fact{"started", n.Started.UTC().Format("2006-01-02 15:04:05 UTC")},
		fact{"decisions", fmt.Sprintf("allowed %s/s, denied %s/s, errors %s/s", rate(n.Allowed), rate(n.Denied), rate(n.Errors))},
		fact{"took", fmt.Sprintf("p50 %s ms, p99 %s ms; writes to disk p99 %s ms", milliseconds(n.P50), milliseconds(n.P99), milliseconds(n.FsyncP99))},
		fact{"keys", fmt.Sprintf("%d awake, %d dormant", n.Awake, n.Dormant)},
		fact{"waiting", counted(n.Waiting, "check in mailboxes", "checks in mailboxes")},
		fact{"memory", fmt.Sprintf("%s of %s", size(n.MemoryHeld), budget(n.MemoryBudget))},
		fact{"disk", fmt.Sprintf("%s used, %s free", size(n.DiskUsed), size(n.DiskFree))})
}

// budget is a bound of bytes in words.
func budget(bytes int64) string {
	if bytes <= 0 {
		return "no bound"
	}
	return size(bytes)
}

func factsOfGateway(g *activity.GatewayRates) []fact {
	facts := []fact{
		{"version", shown(orNone(g.Version))},
		{"started", g.Started.UTC().Format("2006-01-02 15:04:05 UTC")},
		{"admin", shown(orNone(g.Admin))},
		{"decisions", fmt.Sprintf("allowed %s/s, denied %s/s, failed open %s/s, failed closed %s/s", rate(g.Allowed), rate(g.Denied), rate(g.FailedOpen), rate(g.FailedClosed))},
		{"took", fmt.Sprintf("p50 %s ms, p99 %s ms", milliseconds(g.P50), milliseconds(g.P99))},
	}
	for i, outcome := range slices.Sorted(maps.Keys(g.Requests)) {
		name := "requests"
		if i > 0 {
			name = ""
		}
		facts = append(facts, fact{name, fmt.Sprintf("%s %s/s", shown(outcome), rate(g.Requests[outcome]))})
	}
	return facts
}
