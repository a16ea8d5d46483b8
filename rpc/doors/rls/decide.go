package rls

import (
	"context"

	"github.com/jeton-dev/jeton/actor/limit"
)

// decide asks the Limiter. First comes what does not depend on others, then what is charged together, at last what is only observed.
// An error means that the request is not decided.
func (p *plan) decide(ctx context.Context, d *Door) error {
	for i := range p.items {
		p.denied = p.denied || p.items[i].kind == nothing && !p.items[i].passes()
	}
	if len(p.asks) == 1 && p.asks[0].group == together && !p.denied {
		return p.single(ctx, d)
	}
	for i := range p.asks {
		if a := &p.asks[i]; a.group == refund {
			d.giveBack(ctx, a)
		}
	}
	if err := p.batch(ctx, d, true, always); err != nil {
		return err
	}
	p.takeRest(ctx, d)
	if err := p.batch(ctx, d, false, look); err != nil {
		return err
	}
	if err := p.together(ctx, d); err != nil {
		return err
	}
	if err := p.batch(ctx, d, !p.denied, observed); err != nil {
		return err
	}
	return p.batch(ctx, d, false, refund)
}

// unobserved notes that something beside the decision had no answer, which is not shown then.
func (d *Door) unobserved(err error) {
	d.metrics.unobserved.Inc()
	d.cfg.Logger.Debug("a question beside a decision had no answer", "error", err)
}

// single asks what most requests have: one bucket.
func (p *plan) single(ctx context.Context, d *Door) error {
	a := &p.asks[0]
	decision, err := d.cfg.Limiter.Check(ctx, a.request(true))
	if err != nil {
		return err
	}
	d.took(a, decision)
	p.denied = a.over
	return nil
}

// together charges the asks of that group, all or none.
func (p *plan) together(ctx context.Context, d *Door) error {
	var at []int
	for i := range p.asks {
		if p.asks[i].group == together {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return nil
	}
	if !p.denied {
		if err := p.charge(ctx, d, at); err != nil {
			return err
		}
	}
	if p.denied {
		if err := p.batch(ctx, d, false, together); err != nil {
			d.unobserved(err) // the denial stands
		}
	}
	return nil
}

// charge charges the asks at those places, all or none.
func (p *plan) charge(ctx context.Context, d *Door, at []int) error {
	requests := make([]limit.Request, len(at))
	for i, a := range at {
		requests[i] = p.asks[a].request(true)
	}
	all, err := d.cfg.Limiter.CheckAll(ctx, requests)
	if err != nil {
		return err
	}
	p.denied = !all.Allowed
	for i, a := range at {
		if i >= len(all.Decisions) || len(all.Decisions[i].Limits) == 0 {
			continue // it was not asked after a denial
		}
		d.took(&p.asks[a], all.Decisions[i])
		if p.denied && !p.asks[a].over {
			p.asks[a].untake()
		}
	}
	return nil
}

// batch asks those of a group that have no outcome yet, each by itself, to be charged or only looked at.
func (p *plan) batch(ctx context.Context, d *Door, charge bool, g group) error {
	var at []int
	var requests []limit.Request
	for i := range p.asks {
		if a := &p.asks[i]; a.group == g && !a.known {
			at, requests = append(at, i), append(requests, a.request(charge))
		}
	}
	if len(requests) == 0 {
		return nil
	}
	var failed error
	for i, r := range d.cfg.Limiter.CheckBatch(ctx, requests) {
		a := &p.asks[at[i]]
		switch {
		case r.Err != nil && a.quiet:
			d.unobserved(r.Err)
		case r.Err != nil:
			failed = r.Err
		case charge && a.hits > 0:
			d.took(a, r.Decision)
		default:
			a.saw(r.Decision)
		}
		p.denied = p.denied || a.denies()
	}
	return failed
}

// restTries is how often the rest of a bucket is asked for: others may take of it meanwhile.
const restTries = 3

// takeRest takes what is left where hits that are charged always do not fit.
func (p *plan) takeRest(ctx context.Context, d *Door) {
	for i := range p.asks {
		a := &p.asks[i]
		for try := 0; a.group == always && a.over && a.out.Remaining > 0 && try < restTries; try++ {
			rest := a.request(true)
			rest.Cost, rest.Receipt = a.out.Remaining, false
			decision, err := d.cfg.Limiter.Check(ctx, rest)
			if err != nil {
				d.unobserved(err)
				break
			}
			if len(decision.Limits) == 0 {
				break
			}
			a.out.Remaining, a.out.ResetAfter = decision.Limits[0].Remaining, decision.Limits[0].ResetAfter
			if decision.Allowed {
				break
			}
		}
	}
}

// took notes the outcome of a charge, and what it took if that may be given back later.
func (d *Door) took(a *ask, decision limit.Decision) {
	a.over = !decision.Allowed
	if len(decision.Limits) == 0 {
		return
	}
	a.known, a.out = true, decision.Limits[0]
	if a.returns && len(decision.Receipts) == 1 {
		d.refunds.remember(a.bucket(), decision.Receipts[0], a.hits)
	}
}
