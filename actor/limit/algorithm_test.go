package limit_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/limit/limittest"
)

func TestAlgorithms(t *testing.T) {
	names := limit.Algorithms()
	if !slices.IsSorted(names) || !slices.Contains(names, limit.TokenBucket) {
		t.Fatalf("algorithms %q, want them sorted and %q among them", names, limit.TokenBucket)
	}
	for _, name := range names {
		rule, err := limittest.Of(name, "a", 1, perSecond(1)).Rule()
		if err != nil || rule.Algorithm != name {
			t.Errorf("%s: %+v, %v", name, rule, err)
		}
	}
}

func TestRuleDefaults(t *testing.T) {
	rule, err := limit.Limit{Name: "login", Capacity: 10, Refill: perSecond(1)}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	want := limit.Limit{
		Name: "login", Algorithm: limit.TokenBucket, Capacity: 10, Refill: perSecond(1), OnUnavailable: limit.Allow,
	}
	if rule.Limit != want {
		t.Errorf("got %+v, want %+v", rule.Limit, want)
	}
}

func TestRuleInvalid(t *testing.T) {
	valid := limit.Limit{Name: "login", Capacity: 10, Refill: perSecond(1)}
	for name, c := range map[string]struct {
		change     func(*limit.Limit)
		field, fix string
	}{
		"no name":            {func(l *limit.Limit) { l.Name = "" }, "name", "name the limit, such as login"},
		"long name":          {func(l *limit.Limit) { l.Name = strings.Repeat("a", 65) }, "name", "at most 64"},
		"bad name":           {func(l *limit.Limit) { l.Name = "a/b" }, "name", "letters, digits, dots, dashes and underscores"},
		"algorithm":          {func(l *limit.Limit) { l.Algorithm = "leaky" }, "algorithm", "token-bucket"},
		"capacity 0":         {func(l *limit.Limit) { l.Capacity = 0 }, "capacity", "at least 1 token"},
		"negative capacity":  {func(l *limit.Limit) { l.Capacity = -1 }, "capacity", "at least 1 token"},
		"least capacity":     {func(l *limit.Limit) { l.Capacity = math.MinInt64 }, "capacity", "at least 1 token"},
		"no refill":          {func(l *limit.Limit) { l.Refill = limit.Refill{} }, "refill", "write n/duration, such as 5/s"},
		"refill of 0":        {func(l *limit.Limit) { l.Refill.Tokens = 0 }, "refill", "at least 1"},
		"refill of no time":  {func(l *limit.Limit) { l.Refill.Per = 0 }, "refill", "above 0"},
		"refill too fast":    {func(l *limit.Limit) { l.Refill.Tokens = 1e9 + 1 }, "refill", "at most 1000000000 tokens a second"},
		"policy":             {func(l *limit.Limit) { l.OnUnavailable = "panic" }, "on_unavailable", "use allow, deny or local"},
		"a token too slow":   {func(l *limit.Limit) { l.Refill.Per = limit.MaxFill }, "capacity", "lower the capacity or refill faster"},
		"capacity too large": {func(l *limit.Limit) { l.Capacity = math.MaxInt64 }, "capacity", "lower the capacity or refill faster"},
	} {
		t.Run(name, func(t *testing.T) {
			l := valid
			c.change(&l)
			rule, err := l.Rule()
			wantFieldError(t, err, c.field, c.fix)
			if rule != nil {
				t.Errorf("an error comes with the rule %+v", rule)
			}
		})
	}
}

// The longest fill is allowed to the nanosecond.
func TestRuleLongestFill(t *testing.T) {
	for _, c := range []struct {
		capacity int64
		refill   limit.Refill
		ok       bool
	}{
		{1 << 61, limit.Refill{Tokens: 1, Per: 1}, true},
		{1<<61 + 1, limit.Refill{Tokens: 1, Per: 1}, false},
		{1, limit.Refill{Tokens: 1, Per: 1 << 61}, true},
		{1, limit.Refill{Tokens: 1, Per: 1<<61 + 1}, false},
		{3, limit.Refill{Tokens: 3, Per: 1 << 61}, true},
		{3, limit.Refill{Tokens: 3, Per: 1<<61 + 1}, false},      // one third of a nanosecond too slow, three times
		{2, limit.Refill{Tokens: 7, Per: 1<<63 - 1}, false},      // the last nanosecond has a fraction
		{2, limit.Refill{Tokens: 8, Per: 1<<63 - 1}, true},       // a quarter of a nanosecond below
		{1 << 62, limit.Refill{Tokens: 2, Per: 1 << 62}, false},  // a quotient of more than 64 bits
		{1<<63 - 1, limit.Refill{Tokens: 1e9, Per: 1e9}, false},  // of 63 bits
		{1<<61 - 1, limit.Refill{Tokens: 700, Per: 1000}, false}, // of 62 bits
	} {
		rule, err := limit.Limit{Name: "a", Capacity: c.capacity, Refill: c.refill}.Rule()
		switch {
		case c.ok && err != nil:
			t.Errorf("capacity %d, refill %v: %v", c.capacity, c.refill, err)
		case c.ok && rule.Fill() > limit.MaxFill:
			t.Errorf("capacity %d, refill %v fills in %v", c.capacity, c.refill, rule.Fill())
		case !c.ok:
			wantFieldError(t, err, "capacity", "lower the capacity or refill faster")
		}
	}
}

func perSecond(tokens int64) limit.Refill { return limit.Refill{Tokens: tokens, Per: time.Second} }
