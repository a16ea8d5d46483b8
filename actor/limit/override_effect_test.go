package limit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A change of a limit says which live overrides lose their effect, and which have one again.
func TestEffectsOnOverrides(t *testing.T) {
	bucket := read(t, "limits: {login: {capacity: 10, refill: 1/s}, page: {capacity: 10, refill: 1/s}}")
	window := read(t, "limits: {login: {algorithm: fixed-window, limit: 10, window: 1m}, page: {capacity: 10, refill: 1/s}}")
	gone := read(t, "limits: {page: {capacity: 10, refill: 1/s}}")
	set := []limit.Override{
		{Limit: "login", Key: "user:1", Says: "capacity: 20"},
		{Limit: "login", Key: "user:2", Says: "deny"},
		{Limit: "login", Key: "org:*", Says: "capacity: 20", Until: 5},
		{Limit: "page", Key: "user:1", Says: "capacity: 20"},
	}
	text := func(before, after *limit.Document, set []limit.Override) string {
		var said []string
		for _, e := range limit.EffectsOnOverrides(before, after, set) {
			said = append(said, e.Limit+": "+e.Text)
		}
		return strings.Join(said, "\n")
	}
	const unfit = "(capacity: does not fit the algorithm fixed-window, which has "
	got := text(bucket, window, set)
	for _, want := range []string{"login: live overrides that have no effect from now on: 2, ", `capacity: 20 for "user:1" ` + unfit, `capacity: 20 for "org:*" ` + unfit, "or unset them"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "user:2") || strings.Contains(got, "page") {
		t.Errorf("it speaks of one that keeps its effect: %s", got)
	}
	if got := text(window, bucket, set); got != `login: live overrides that have an effect again: 2, capacity: 20 for "user:1", capacity: 20 for "org:*"` {
		t.Errorf("the way back: %s", got)
	}
	if got := text(bucket, gone, set); !strings.Contains(got, `have no effect from now on: 3, capacity: 20 for "user:1" ("login" is no stored limit)`) {
		t.Errorf("the limit is removed: %s", got)
	}
	if got := text(bucket, bucket, set); got != "" {
		t.Errorf("nothing changes: %s", got)
	}
	many := make([]limit.Override, 1000)
	for i := range many {
		many[i] = limit.Override{Limit: "login", Key: fmt.Sprint(i), Says: "refill: 5/s"}
	}
	if got := text(bucket, window, many); !strings.Contains(got, "from now on: 1000, ") || !strings.Contains(got, "and 997 more: jeton limits override list shows all") {
		t.Errorf("of many: %s", got)
	}
	if why := window.NoEffect(set[1]); why != "" {
		t.Errorf("a denial has no effect: %s", why)
	}
}
