package descriptors

import (
	"strings"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A builder makes levels of what stands in one file.
type builder struct {
	*report

	rules  []*Rule
	orders int
}

// level makes one of branches. Path is the name of their parent in metrics, which varies if a value of a request may be in it.
func (b *builder) level(branches []*branch, path string, varies bool) *level {
	if len(branches) == 0 {
		return nil
	}
	l := &level{exact: map[Entry]*node{}, any: map[string]*node{}, wild: map[string][]*node{}}
	differences(branches, b.report)
	places := map[Entry]string{}
	for _, br := range branches {
		e := Entry{br.key, br.value}
		switch {
		case br.key == "":
			b.add(br.line, strictyaml.Under(br.field, "key"), "is missing or empty: write the key that Envoy sends")
			continue
		case places[e] != "":
			b.add(br.line, br.field, "has the key and the value of %s: write the descriptor once", places[e])
			continue
		}
		places[e] = br.place()
		l.put(e, b.node(br, path, varies))
	}
	return l
}

func (b *builder) node(br *branch, path string, varies bool) *node {
	b.orders++
	text := br.key
	if br.value != "" {
		text = br.value
	}
	n := &node{order: b.orders, shared: br.flags["share_threshold"] != 0, toMetric: br.flags["value_to_metric"] != 0}
	if prefix, wild := strings.CutSuffix(text, "*"); wild {
		n.pattern, n.prefix = text, prefix
	} else if n.shared {
		b.add(br.flags["share_threshold"], strictyaml.Under(br.field, "share_threshold"), "is for values that end in *, and %q does not: leave it out", text)
	}
	path += "." + br.key
	if br.value != "" {
		path += "_" + br.value
	}
	varies = varies || n.toMetric && (br.value == "" || n.pattern != "" && !n.shared)
	if br.rate != nil {
		n.rule = makeRule(br, path, varies, b.report)
		b.rules = append(b.rules, n.rule)
	}
	n.next = b.level(br.branches, path, varies)
	return n
}
