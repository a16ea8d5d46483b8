package rls

import (
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// planOf finds the rule of each descriptor. Its error is what Envoy is answered.
func (d *Door) planOf(s *state, r *ratelimitv3.RateLimitRequest) (*plan, error) {
	switch n := len(r.GetDescriptors()); {
	case r.GetDomain() == "":
		return nil, invalid("domain: rate limit domain must not be empty")
	case len(r.GetDomain()) > maxText:
		return nil, invalid("domain: %d bytes are too many: at most %d", len(r.GetDomain()), maxText)
	case n == 0:
		return nil, invalid("descriptors: rate limit descriptor list must not be empty")
	case n > maxDescriptors:
		return nil, invalid("descriptors: %d are too many: at most %d in a request, of which %d may be charged", n, maxDescriptors, limit.MaxAll)
	}
	p := newPlan(s, r)
	domain := s.domains.Domain(r.GetDomain())
	if domain == nil {
		return p, nil
	}
	f := finder{plan: p, domain: domain, reported: d.cfg.Reported}
	f.found, f.entries, f.steps, f.key = f.room.found[:0], f.room.entries[:0], f.room.steps[:0], f.room.key[:0]
	for i, one := range r.GetDescriptors() {
		if err := f.descriptor(i, one); err != nil {
			return nil, err
		}
	}
	f.replace()
	return p, f.charge()
}

// A finder fills a plan.
type finder struct {
	plan   *plan
	domain *descriptors.Domain
	found  []found // of each descriptor

	reported bool // Config.Reported

	entries []descriptors.Entry // of one of them
	steps   []descriptors.Step
	key     []byte

	room struct { // of what most requests have, so that it is not allocated
		found   [2]found
		entries [4]descriptors.Entry
		steps   [4]descriptors.Step
		key     [128]byte
	}
}

// What is found for one descriptor.
type found struct {
	key      string
	limit    limit.Ref
	negative bool
	reported bool // its hits are charged whatever else is decided
}

// descriptor finds the rule of the descriptor at i.
func (f *finder) descriptor(i int, d *commonv3.RateLimitDescriptor) error {
	it := &f.plan.items[i]
	var err error
	if it.hits, err = hits(i, d, f.plan.request); err != nil {
		return err
	}
	if f.entries, err = entries(f.entries[:0], i, d); err != nil {
		return err
	}
	f.found = append(f.found, found{negative: d.GetIsNegativeHits(), reported: f.reported && namesHits(d, f.plan.request)})
	f.steps = f.steps[:0]
	if o := d.GetLimit(); o != nil {
		return f.override(i, o)
	}
	it.rule, f.steps = f.domain.Match(f.entries, f.steps)
	switch {
	case it.rule == nil:
		return nil
	case it.rule.Varies:
		it.name = it.rule.MetricPath(f.domain.Name, f.entries, f.steps)
	}
	it.current = f.plan.state.rules[it.rule.Index].current
	switch {
	case it.rule.Unlimited:
		it.kind = unlimited
	case it.rule.Requests == 0:
		it.kind = nothing
		it.period = it.rule.Length
	default:
		f.bucket(i, it.rule.Refs[0])
	}
	return nil
}

// override takes the limit that the request defines for the descriptor at i.
func (f *finder) override(i int, o *commonv3.RateLimitDescriptor_RateLimitOverride) error {
	it := &f.plan.items[i]
	n := descriptors.Numbers{Requests: o.GetRequestsPerUnit(), Unit: descriptors.Unit(o.GetUnit()), Multiplier: o.GetUnitMultiplier().GetValue()}
	period, err := n.Period()
	if err != nil {
		return invalid("descriptors[%d].limit.%s", i, err)
	}
	it.current = currentLimit(n, "")
	if n.Requests == 0 {
		it.kind, it.period = nothing, period
		return nil
	}
	l, err := n.Limit()
	if err != nil {
		return invalid("descriptors[%d].limit.%s", i, err)
	}
	f.bucket(i, limit.Inline(l))
	return nil
}

// bucket notes which one the descriptor at i has.
func (f *finder) bucket(i int, l limit.Ref) {
	f.key = descriptors.AppendKey(f.key[:0], f.domain.Name, f.entries, f.steps)
	f.plan.items[i].kind = asked
	f.found[i].key, f.found[i].limit = descriptors.Key(f.key), l
}

// replace lets those pass whose rules others replace.
func (f *finder) replace() {
	var names map[string]bool
	for i := range f.plan.items {
		if r := f.plan.items[i].rule; r != nil && len(r.Replaces) > 0 {
			if names == nil {
				names = map[string]bool{}
			}
			for _, name := range r.Replaces {
				names[name] = true
			}
		}
	}
	for i := range f.plan.items {
		if it := &f.plan.items[i]; it.rule != nil && it.kind != unlimited && names[it.rule.Name] {
			it.kind = replaced
		}
	}
}
