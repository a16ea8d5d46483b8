package fallback

import (
	"sync"
	"sync/atomic"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A part is this gateway's share of a limit.
type part struct {
	whole *limit.Rule
	own   *limit.Rule // nil: the limit cannot be decided locally

	by limit.Cause // that decides in place of the limit's own numbers
}

// divide is one of n equal parts of a limit, as its algorithm divides it.
func divide(whole *limit.Rule, n int) *part { return &part{whole: whole, own: whole.Part(n)} }

// maxGone bounds the limits that are remembered after they were removed from the document.
const maxGone = 1000

// divided holds the parts of all stored limits. It is made once for each document. Limits that were removed since are kept as
// they were: if one was removed by mistake, its policy still applies.
type divided struct {
	doc   *limit.Document
	parts map[string]*part

	varied sync.Map // from *limit.Rule to *limit.Rule: the parts of rules of plans and overrides, as they are asked for
}

// A divider makes and caches the parts of limits.
type divider struct {
	gateways int
	latest   atomic.Pointer[divided]
}

// of are the parts of the limits of r, by the plan that it names and the overrides of the document, appended to parts; nil stands for a
// limit that was never known.
func (v *divider) of(parts []*part, doc *limit.Document, r *limit.Request) []*part {
	stored := v.stored(doc)
	for _, ref := range r.Limits {
		if ref.Inline == nil {
			p := stored[ref.Name]
			if p != nil {
				p = v.vary(p, doc, r)
			}
			parts = append(parts, p)
			continue
		}
		var p *part
		if rule, err := ref.Inline.Rule(); err == nil {
			p = divide(rule, v.gateways)
		}
		parts = append(parts, p)
	}
	return parts
}

// vary is the part by the override or the plan that decides in place of p.
func (v *divider) vary(p *part, doc *limit.Document, r *limit.Request) *part {
	by := doc.CauseOf(p.whole.Name, r.Key, r.Plan, func() int64 { return 0 }) // overrides of the document have no end
	if by == (limit.Cause{}) {
		return p
	}
	other := part{whole: by.Rule(p.whole), by: by}
	varied := &v.latest.Load().varied
	own, ok := varied.Load(other.whole)
	if !ok {
		own, _ = varied.LoadOrStore(other.whole, other.whole.Part(v.gateways))
	}
	other.own, _ = own.(*limit.Rule)
	return &other
}

// stored are the parts of the limits in doc and of the removed ones that are remembered, by name.
func (v *divider) stored(doc *limit.Document) map[string]*part {
	if doc == nil {
		return nil
	}
	if d := v.latest.Load(); d != nil && d.doc == doc {
		return d.parts
	}
	d := &divided{doc: doc, parts: map[string]*part{}}
	for _, rule := range doc.Rules() {
		d.parts[rule.Name] = divide(rule, v.gateways)
	}
	v.remember(d, v.latest.Load())
	v.latest.Store(d)
	return d.parts
}

// remember adds to d the limits of before that d does not have.
func (v *divider) remember(d, before *divided) {
	if before == nil {
		return
	}
	gone := 0
	for name, p := range before.parts {
		if _, there := d.parts[name]; !there && gone < maxGone {
			d.parts[name] = divide(p.whole, v.gateways)
			gone++
		}
	}
}

// inherit makes v remember the limits that another divider knows.
func (v *divider) inherit(before *divider) {
	d := &divided{parts: map[string]*part{}}
	v.remember(d, before.latest.Load())
	v.latest.Store(d)
}
