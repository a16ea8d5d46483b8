package fallback

import (
	"context"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A gateway that decides alone lets requests wait for its part of the limits as the cluster does for the whole.
func TestLocalBucketsWait(t *testing.T) {
	now := int64(1e18)
	b := newBuckets(func() int64 { return now })
	defer b.close()
	of := func(name string, capacity int64, per time.Duration) *part {
		rule, err := limit.Limit{Name: name, Capacity: capacity, Refill: limit.Refill{Tokens: 1, Per: per}, MaxWait: 5 * time.Second}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		return divide(rule, 1)
	}
	parts := []*part{of("slow", 1, 2*time.Second), of("fast", 2, time.Second)}
	for i, want := range []time.Duration{0, 2 * time.Second, 4 * time.Second, -1} {
		d, ok := b.decide(&limit.Request{Key: "k", Wait: 5 * time.Second}, parts)
		if !ok || d.Allowed != (want >= 0) || d.Allowed && d.Wait != want {
			t.Errorf("request %d: allowed %v after %v, want after %v", i, d.Allowed, d.Wait, want)
		}
	}
	if d, _ := b.decide(&limit.Request{Key: "k"}, parts[:1]); d.Allowed {
		t.Error("one that does not wait passes those that do")
	}
	now += int64(6 * time.Second)
	if d, _ := b.decide(&limit.Request{Key: "k"}, parts); !d.Allowed || d.Wait != 0 {
		t.Errorf("after the queue: allowed %v after %v", d.Allowed, d.Wait)
	}
}

// asking is a checker.
type asking func(context.Context, limit.Request) (limit.Decision, error)

func (f asking) Check(ctx context.Context, r limit.Request) (limit.Decision, error) { return f(ctx, r) }

// A wait that a limit does not allow is asked for as far as it does, whether the gateway knows the limits or only the cluster does. So
// a limit that was changed denies as before, and leaves no request to a policy.
func TestWaitsThatLimitsDoNotAllow(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {none: {capacity: 1, refill: 1/h}, two: {capacity: 1, refill: 1/h, wait: 2s}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []*limit.Document{doc, nil} {
		var asked []time.Duration
		g, err := New(Config{
			Checker: asking(func(_ context.Context, r limit.Request) (limit.Decision, error) {
				asked = append(asked, r.Wait)
				for _, ref := range r.Limits {
					rule, _ := doc.Rule(ref.Name)
					if err := rule.AllowsWait(r.Wait); err != nil {
						return limit.Decision{}, err
					}
				}
				return limit.Decision{}, nil
			}),
			Limits: func() *limit.Document { return known },
		})
		if err != nil {
			t.Fatal(err)
		}
		for names, want := range map[string]time.Duration{"two": 2 * time.Second, "none": 0} {
			asked = nil
			v := g.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named(names)}, Wait: 5 * time.Second}, limit.Allow)
			if known == nil {
				want = 0
			}
			if v.Source != ByCluster || asked[len(asked)-1] != want || known != nil && len(asked) != 1 {
				t.Errorf("%s: decided by %v, asked for %v", names, v.Source, asked)
			}
		}
		g.Close()
	}
}
