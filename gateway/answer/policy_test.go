package answer

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func quotaOf(tb testing.TB, name string) *Quota {
	tb.Helper()
	rule, err := limit.Limit{Name: name, Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
	if err != nil {
		tb.Fatal(err)
	}
	return &Quota{Rule: rule, Outcome: limit.Outcome{Name: name, Limit: 10}}
}

func TestPoliciesAreRememberedAndForgotten(t *testing.T) {
	var p policies
	first := quotaOf(t, "first")
	if made := p.of(first); made.item != `"first";q=10;w=10` || p.of(first) != made {
		t.Errorf("%q is made anew", made.item)
	}
	if again := quotaOf(t, "first"); p.of(again) == p.of(first) {
		t.Error("another rule with the same name is taken for it: it may have another refill")
	}
	for i := range 3 * maxPolicies {
		q := quotaOf(t, fmt.Sprint("limit-", i))
		if got, want := p.of(q).item, `"`+q.Name+`";q=10;w=10`; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	size := 0
	p.known.Range(func(any, any) bool { size++; return true })
	if size > maxPolicies {
		t.Errorf("%d policies are remembered, more than %d", size, maxPolicies)
	}
}

func TestPoliciesAtOnce(t *testing.T) {
	var p policies
	quotas := make([]*Quota, 2*maxPolicies)
	for i := range quotas {
		quotas[i] = quotaOf(t, fmt.Sprint("limit-", i))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, q := range quotas {
				if got := p.of(q).name; got != `"`+q.Name+`"` {
					t.Errorf("got %s for %s", got, q.Name)
				}
			}
		})
	}
	all.Wait()
}
