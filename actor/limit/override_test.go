package limit_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func overridable(tb testing.TB) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte("limits: {login: {capacity: 10, refill: 1/s}, page: {algorithm: fixed-window, limit: 100, window: 1m}}"))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

func TestOverrideCompile(t *testing.T) {
	doc := overridable(t)
	for _, tt := range []struct{ limit, key, says, want string }{
		{"login", "user:1", "deny", "10 1/s"},
		{"login", "user:1", "allow", "10 1/s"},
		{"login", "org:acme:*", "capacity: 20", "20 1/s"},
		{"login", "user:1", "capacity: 20, refill: 5/s", "20 5/s"},
		{"login", "user:1", "refill:5/s", "10 5/s"},
		{"page", "user:1", "limit: 5", "5 1m0s"},
		{"login", "", "deny", "key: "},
		{"login", "*", "deny", "key: * stands for every key: change the limit itself"},
		{"login", "org:*:admin", "deny", `key: a * stands for the rest of a key, so only at the end: write "org:*", or single keys`},
		{"login", "org:**", "deny", `key: a * stands for the rest of a key, so only at the end: write "org:*", or single keys`},
		{"login", "*:admin", "deny", "key: a * stands for the rest of a key, so only at the end: write a key, or the beginning of keys"},
		{"login", "**", "deny", "key: a * stands for the rest of a key, so only at the end"},
		{"login", strings.Repeat("k", 513), "deny", "key: "},
		{"login", strings.Repeat("k", 512) + "*", "deny", "10 1/s"}, // a key may be as long as that
		{"login", "user:1", "", "override: says nothing: set capacity, limit, refill, or deny or allow"},
		{"login", "user:1", "denied", `override: "denied" is nothing that an override sets`},
		{"login", "user:1", "window: 2m", `override: "window" is nothing that an override sets`},
		{"login", "user:1", "algorithm: fixed-window", `override: "algorithm" is nothing that an override sets`},
		{"login", "user:1", "capacity: 1, capacity: 2", "capacity: is set twice"},
		{"login", "user:1", "capacity: 0", "capacity: "},
		{"login", "user:1", "capacity: x", "capacity: "},
		{"login", "user:1", "refill: 5/q", "refill: "},
		{"login", "user:1", "limit: 5", "limit: does not fit the algorithm token-bucket"},
		{"page", "user:1", "capacity: 5", "capacity: does not fit the algorithm fixed-window"},
		{"login", "user:1", "capacity: 9223372036854775807, refill: 1/h", "capacity: "},
	} {
		base, _ := doc.Rule(tt.limit)
		o, err := limit.Override{Limit: tt.limit, Key: tt.key, Says: tt.says}.Compile(base)
		got := fmt.Sprint(err)
		if err == nil {
			pace := o.Rule.Refill.String()
			if o.Rule.Limit.Window != 0 {
				pace = o.Rule.Limit.Window.String()
			}
			got = fmt.Sprint(o.Rule.Capacity, " ", pace)
		}
		if !strings.Contains(got, tt.want) {
			t.Errorf("%s of %.20s: %s: got %q, want %q", tt.limit, tt.key, tt.says, got, tt.want)
		}
	}
	base, _ := doc.Rule("login")
	if o, err := (limit.Override{Limit: "login", Key: "k", Says: "capacity: 10"}).Compile(base); err != nil || o.Rule != base {
		t.Errorf("equal numbers are another rule: %v", err)
	}
}

// What counts for a key is found as by a search through all overrides, after any changes, and older documents stay as they are.
func TestOverridesAreFound(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	key := func() string {
		k := strings.Repeat("ab", random.IntN(3)) + strconv.Itoa(random.IntN(9))
		if random.IntN(3) == 0 {
			k += "*"
		}
		return k
	}
	now := int64(0)
	clock := func() int64 { return now }
	doc, model := overridable(t), map[string]*limit.Override{}
	for range 400 {
		var changes []limit.OverrideChange
		old, oldModel := doc, maps.Clone(model)
		for range random.IntN(6) {
			c := limit.OverrideChange{Limit: "login", Key: key()}
			if random.IntN(3) > 0 {
				c.Set = &limit.Override{Limit: "login", Key: c.Key, Says: fmt.Sprintf("capacity: %d", 1+random.IntN(1000)), Until: int64(random.IntN(3)) * 50}
				model[c.Key] = c.Set
			} else {
				delete(model, c.Key)
			}
			changes = append(changes, c)
		}
		var problems []error
		if doc, problems = doc.WithOverrides(changes); len(problems) > 0 {
			t.Fatal(problems)
		}
		now = int64(random.IntN(120))
		for range 20 {
			k := strings.TrimSuffix(key(), "*") + strings.Repeat("x", random.IntN(2))
			wantOverride(t, seed, doc, model, k, now, clock)
			wantOverride(t, seed, old, oldModel, k, now, clock)
		}
	}
}

func wantOverride(t *testing.T, seed uint64, doc *limit.Document, model map[string]*limit.Override, key string, now int64, clock func() int64) {
	t.Helper()
	want, length := "none", -1
	for pattern, o := range model {
		begin, is := strings.CutSuffix(pattern, "*")
		fits, n := pattern == key, 1<<20
		if is {
			fits, n = strings.HasPrefix(key, begin), len(begin)
		}
		if fits && n > length && (o.Until == 0 || o.Until > now) {
			want, length = o.String(), n
		}
	}
	got := "none"
	if o := doc.Override("login", key, clock); o != nil {
		got = o.String()
	}
	if got != want {
		t.Fatalf("seed %d: the override of %q at %d is %s, want %s", seed, key, now, got, want)
	}
	if o := doc.Override("page", key, clock); o != nil {
		t.Fatalf("another limit has %s", o)
	}
}

func TestOverridesThatDoNotFit(t *testing.T) {
	doc, problems := overridable(t).WithOverrides([]limit.OverrideChange{
		{Limit: "gone", Key: "k", Set: &limit.Override{Limit: "gone", Key: "k", Says: "deny"}},
		{Limit: "gone", Key: "k2"},
		{Limit: "page", Key: "k", Set: &limit.Override{Limit: "page", Key: "k", Says: "capacity: 5"}},
		{Limit: "page", Key: "l", Set: &limit.Override{Limit: "page", Key: "l", Says: "limit: 5"}},
	})
	if len(problems) != 2 || !strings.Contains(problems[0].Error(), `"gone" is no stored limit`) || !strings.Contains(problems[1].Error(), "overrides.page.capacity") {
		t.Errorf("the problems are %q", problems)
	}
	clock := func() int64 { return 0 }
	if doc.Override("page", "k", clock) != nil || doc.Override("page", "l", clock) == nil || doc.Override("gone", "k", clock) != nil {
		t.Error("what does not fit has an effect, or what does has none")
	}
	if !doc.HasOverrides() || overridable(t).HasOverrides() {
		t.Error("a document does not know whether it has overrides")
	}
	o := limit.Override{Key: "org:*", Says: "deny", Until: int64(time.Hour)}
	if got := o.String(); got != `deny for "org:*" until 1970-01-01 01:00:00Z` {
		t.Errorf("in words: %s", got)
	}
}

// BenchmarkOverrides looks for the rule of a key among no overrides and among 100,000.
func BenchmarkOverrides(b *testing.B) {
	for _, n := range []int{0, 100_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var changes []limit.OverrideChange
			for i := range n {
				key := "user:" + strconv.Itoa(10_000_000_000+i)
				changes = append(changes, limit.OverrideChange{Limit: "login", Key: key, Set: &limit.Override{Limit: "login", Key: key, Says: "capacity: 20"}})
			}
			doc := overridable(b)
			if n > 0 {
				doc, _ = doc.WithOverrides(changes)
			}
			clock := func() int64 { return 0 }
			keys := make([]string, 4096)
			for i := range keys {
				keys[i] = "user:" + strconv.Itoa(10_000_000_000+i*17)
			}
			b.ResetTimer()
			for i := range b.N {
				rule, err := doc.Resolve(limit.Named("login"))
				if err != nil {
					b.Fatal(err)
				}
				if o := doc.Override("login", keys[i&4095], clock); o != nil {
					rule = o.Rule
				}
				if rule.Capacity < 1 {
					b.Fatal("no rule")
				}
			}
		})
	}
}

// BenchmarkOverrideChange changes one of 100,000.
func BenchmarkOverrideChange(b *testing.B) {
	var changes []limit.OverrideChange
	for i := range 100_000 {
		key := "user:" + strconv.Itoa(10_000_000_000+i)
		changes = append(changes, limit.OverrideChange{Limit: "login", Key: key, Set: &limit.Override{Limit: "login", Key: key, Says: "capacity: 20"}})
	}
	doc, _ := overridable(b).WithOverrides(changes)
	b.ResetTimer()
	for i := range b.N {
		doc, _ = doc.WithOverrides(changes[i%1000 : i%1000+1])
	}
}
