package fallback

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// What a gateway's document asks for beyond a limit's numbers, a plan or a wait, is asked for as far as the limits have it. So no request
// is left to a policy for the sake of a plan that does not exist, or of a limit that was changed to let no check wait.

// asked is r as it is put to the cluster, as far as the limits are known.
func (g *Guard) asked(r limit.Request) limit.Request {
	r.Plan, r.Wait = g.planOf(&r), g.waitOf(&r)
	return r
}

// less takes out of r what the cluster has refused with err, and says whether that was anything: this gateway knows other limits than
// the node.
func less(r *limit.Request, err error) bool {
	switch {
	case r.Plan != "" && limit.IsNoPlan(err):
		r.Plan = ""
	case r.Wait > 0 && limit.IsNoWait(err):
		r.Wait = 0
	default:
		return false
	}
	return true
}

// planOf is the plan that a request may name: none where its limits have none of that name. A client without a plan is limited by the
// limits' own numbers.
func (g *Guard) planOf(r *limit.Request) string {
	if r.Plan == "" || limit.ValidatePlan(r.Plan) != nil {
		return ""
	}
	if doc := g.limits(); doc != nil && doc.CheckPlan(r.Plan, r.Limits) != nil {
		return ""
	}
	return r.Plan
}

// waitOf is how long a request may wait: no longer than each of its limits allows.
func (g *Guard) waitOf(r *limit.Request) time.Duration {
	wait := r.Wait
	doc := g.limits()
	if wait == 0 || doc == nil {
		return wait
	}
	for _, ref := range r.Limits {
		if rule, ok := doc.Rule(ref.Name); ok && ref.Inline == nil {
			wait = min(wait, rule.MaxWait)
		}
	}
	return wait
}
