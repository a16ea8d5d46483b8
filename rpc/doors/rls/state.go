package rls

import (
	"errors"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// A state is what the files said when they were read. It does not change.
type state struct {
	domains *descriptors.Domains
	rules   []ruleState // by Rule.Index
}

// A ruleState is what answers and metrics need of a rule.
type ruleState struct {
	current *ratelimitv3.RateLimitResponse_RateLimit
	label   string // its name in metrics
}

// adoptFiles puts files in force, or says what is wrong with them.
func (d *Door) adoptFiles(files []descriptors.File) error {
	if d.cfg.Merge {
		return d.adopt(descriptors.ParseMerged(files))
	}
	return d.adopt(descriptors.Parse(files))
}

// adopt puts domains in force, or says what is wrong with what they were made of.
func (d *Door) adopt(domains *descriptors.Domains, problems []descriptors.Problem) error {
	if len(problems) > 0 {
		var all []error
		for _, p := range problems {
			all = append(all, errors.New(p.String()))
		}
		return errors.Join(all...)
	}
	s := &state{domains: domains, rules: make([]ruleState, len(domains.Rules))}
	for i, r := range domains.Rules {
		s.rules[i] = ruleState{current: currentLimit(r.Numbers, r.Name), label: bound.Label(r.Path)}
	}
	if before := d.state.Swap(s); before != nil {
		d.metrics.forget(before.domains.Rules, domains.Rules)
	}
	return nil
}

// currentLimit is how answers show a limit.
func currentLimit(n descriptors.Numbers, name string) *ratelimitv3.RateLimitResponse_RateLimit {
	current := &ratelimitv3.RateLimitResponse_RateLimit{
		Name: name, RequestsPerUnit: n.Requests, Unit: ratelimitv3.RateLimitResponse_RateLimit_Unit(n.Unit),
	}
	if n.Multiplier > 1 {
		current.UnitMultiplier = wrapperspb.UInt32(n.Multiplier)
	}
	return current
}
