package clustertests

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// rivalLimits fill between once in a second and once in five milliseconds. The faster, the more often two owners meet.
const rivalLimits = `limits:
  deep: {capacity: 100, refill: 100/s}
  flat: {capacity: 5, refill: 100/s}
  thin: {capacity: 1, refill: 200/s}
  slow: {capacity: 3, refill: 2/s}
`

// For a minute one key has two owners: half of its callers reach one node only, the others another one. Both ask for as
// much as the limit allows. Each owner reserves line of its own, and is refused what the other one has: no key is over.
// They waste some, and neither starves: what is due is what another key is admitted, of the same limit, that has one owner and is asked for
// at the same time.
func TestEventRivals(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, rivalLimits)
	doc, err := limit.ParseDocument([]byte(rivalLimits))
	if err != nil {
		t.Fatal(err)
	}
	d := &drill{T: t, cluster: c}
	var all []*rivalry
	for _, rule := range doc.Rules() {
		r := &rivalry{rule: rule}
		for _, m := range c.Members[:2] {
			r.loads = append(r.loads, load.Start(t, load.Config{
				Checker: keyOf{newDirect(t, m), rule.Name}, Rule: rule, Keys: 1, PerSecond: int(rule.Refill.Tokens),
				Deadline: deadline, Slow: impatience,
			}))
		}
		r.alone = load.Start(t, load.Config{
			Checker: keyOf{newDirect(t, c.Members[2]), rule.Name + ":alone"}, Rule: rule, Keys: 1, PerSecond: int(rule.Refill.Tokens),
			Deadline: deadline, Slow: impatience,
		})
		all = append(all, r)
	}
	d.pass(lasting(8*time.Second, time.Minute))
	for _, r := range all {
		r.end(t)
	}
}

// keyOf gives every limit a key of its own, and so an actor.
type keyOf struct {
	limit.Checker
	name string
}

func (k keyOf) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	r.Key = k.name + ":" + r.Key
	return k.Checker.Check(ctx, r)
}

// A rivalry is one key that two owners serve.
type rivalry struct {
	rule  *limit.Rule
	loads []*load.Load // by owner
	alone *load.Load   // of the key that has one
}

// end ends it, and passes the verdict.
func (r *rivalry) end(t *testing.T) {
	t.Helper()
	for _, l := range slices.Concat(r.loads, []*load.Load{r.alone}) {
		l.Stop()
	}
	all := r.loads[0].History()
	for _, l := range r.loads[1:] {
		all.Calls = append(all.Calls, l.History().Calls...)
	}
	if err := history.Safe(all, nodesApart); err != nil {
		t.Errorf("%s: %v", r.rule.Name, err)
	}
	allowed, _ := r.alone.Share()
	if allowed == 0 {
		t.Fatalf("%s: one owner alone has admitted nothing:\n%s", r.rule.Name, r.alone.Why())
	}
	var shares []float64
	total := 0.0
	for i, l := range r.loads {
		admitted, _ := l.Share()
		shares, total = append(shares, admitted/allowed), total+admitted/allowed
		if len(l.Failures()) > 0 {
			t.Errorf("%s: checks at owner %d have failed:\n%s", r.rule.Name, i+1, l.Why())
		}
		if shares[i] < leastOfARival {
			t.Errorf("%s: owner %d has admitted %.4f of what one alone has: it starves", r.rule.Name, i+1, shares[i])
		}
	}
	t.Logf("%s: %.3f of what one owner has admitted, %.0f tokens, by the two %.3f", r.rule.Name, total, allowed, shares)
	if total < r.least() {
		t.Errorf("%s: %.3f of what one owner has admitted", r.rule.Name, total)
	}
}

// Of what one owner admits, two admit so much at the least, and each of them so much. In a minute it is nearly half
// of it and more, unless the bucket fills so fast that the machine's own pauses count.
const leastOfARival = 0.05

func (r *rivalry) least() float64 {
	if *long && r.rule.Length(r.rule.Capacity).NS >= int64(50*time.Millisecond) {
		return 0.45
	}
	return 2 * leastOfARival
}
