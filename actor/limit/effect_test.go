package limit_test

import (
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func bucketOf(t *testing.T, capacity int64, refill string, unavailable limit.Policy) *limit.Rule {
	t.Helper()
	r, err := limit.ParseRefill(refill)
	if err != nil {
		t.Fatal(err)
	}
	rule, err := limit.Limit{Name: "login", Capacity: capacity, Refill: r, OnUnavailable: unavailable}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

const (
	debt     = "buckets keep their debt in time: each is full again when it would have been"
	given    = "what owners have reserved beyond the new reach is given up; what they hold within it may still be spent once"
	receipts = "receipts of before cannot be returned any more"
)

// windowOf is a limit of windows.
func windowOf(t *testing.T, of int64, window time.Duration) *limit.Rule {
	t.Helper()
	rule, err := limit.Limit{Name: "login", Algorithm: limit.FixedWindow, Capacity: of, Window: window, OnUnavailable: limit.Deny}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return rule
}

func TestEffects(t *testing.T) {
	const fresh = "another kind of bucket: every key's bucket begins full; what was spent before counts no more, and its receipts cannot be returned"
	ten := bucketOf(t, 10, "1/s", limit.Deny)
	held := func(capacity int64, refill string, longest time.Duration) *limit.Rule {
		l := bucketOf(t, capacity, refill, limit.Deny).Limit
		l.Holds.Longest = longest
		return ruleOf(t, l)
	}
	of := func(capacity int64, r limit.Reserve) *limit.Rule {
		l := bucketOf(t, capacity, "1/s", limit.Deny).Limit
		l.Reserve = r
		return ruleOf(t, l)
	}
	const unseen = "its buckets are at gateways and clients, which ask no node: it may be in use, though no node counts checks of it"
	ofEdges := ten.Limit
	ofEdges.Consistency = limit.OfEdge
	local := ruleOf(t, ofEdges)
	reserved := func(r limit.Reserve) *limit.Rule { return of(1000, r) }
	leased := ten.Limit
	leased.Hot = limit.LeaseHot
	for _, tt := range []struct {
		what          string
		before, after *limit.Rule
		want          []string
	}{
		{"hot keys are leased", ten, ruleOf(t, leased), []string{"buckets stay as they are", "gateways and clients take tokens of hot keys ahead, and decide by themselves with what they hold"}},
		{"hot keys are leased no more", ruleOf(t, leased), ten, []string{"buckets stay as they are", "owners decide every check of hot keys; what gateways and clients hold is void within a second or so"}},
		{"nothing", nil, nil, nil},
		{"the same", ten, bucketOf(t, 10, "1/s", limit.Deny), nil},
		{"new", nil, ten, []string{"new: a key's bucket begins full; if a limit of this name was removed not long ago, what was spent under it still counts"}},
		{"gone", ten, nil, []string{"removed: checks that name it fail from now on; what buckets hold is forgotten as time passes"}},
		{"half as many", ten, bucketOf(t, 5, "1/s", limit.Deny), []string{
			debt, "from now on at most 5 at once, then 1/s; an empty bucket has its next token after 6s", given, receipts,
		}},
		{"twice as many", ten, bucketOf(t, 20, "1/s", limit.Deny), []string{
			debt, "from now on at most 20 at once, then 1/s; an empty bucket has 10 at once", receipts,
		}},
		{"twice as fast", ten, bucketOf(t, 10, "2/s", limit.Deny), []string{
			debt, "from now on at most 10 at once, then 2/s; an empty bucket has its next token after 5.5s", given, receipts,
		}},
		{"half as fast", ten, bucketOf(t, 10, "30/m", limit.Deny), []string{
			debt, "from now on at most 10 at once, then 30/m; an empty bucket has 5 at once", receipts,
		}},
		{"twice of all", ten, bucketOf(t, 20, "2/s", limit.Deny), []string{
			debt, "from now on at most 20 at once, then 2/s; an empty bucket has its next token after 500ms", receipts,
		}},
		{"windows", ten, windowOf(t, 10, time.Minute), []string{fresh}},
		{"other windows", windowOf(t, 10, time.Hour), windowOf(t, 10, time.Minute), []string{fresh}},
		{"more in a window", windowOf(t, 10, time.Minute), windowOf(t, 20, time.Minute), []string{
			"the share of the present window that is spent stays spent: half stays half", "from the next window on at most 20 in each", receipts,
		}},
		{"gateways", ten, bucketOf(t, 10, "1/s", limit.Allow), []string{"buckets stay as they are", "gateways go by allow when there is no decision"}},
		{"all", ten, bucketOf(t, 11, "1/s", limit.Local), []string{
			debt, "from now on at most 11 at once, then 1/s; an empty bucket has 1 at once", receipts, "gateways go by local when there is no decision",
		}},
		{"no holds", held(10, "1/s", time.Minute), held(10, "1/s", 0), []string{"buckets stay as they are", "new holds are refused; those that are open can be settled"}},
		{"longer holds", held(10, "1/s", time.Minute), held(10, "1/s", time.Hour), []string{
			"buckets stay as they are", "holds last up to 1h, and a new one that expires is charged; those that are open keep their times",
		}},
		{"less in reserve", reserved(0), reserved(1), []string{"buckets stay as they are", "owners take up to 10 tokens of a bucket beyond what checks need"}},
		{"nothing in reserve", reserved(0), reserved(limit.ReserveExact), []string{
			"buckets stay as they are", "owners take nothing beyond what checks need; what they have taken may still be spent",
		}},
		{"the default in reserve", reserved(limit.ReserveExact), reserved(0), []string{
			"buckets stay as they are", "owners take up to 50 tokens of a bucket beyond what checks need",
		}},
		{"no whole token in reserve", of(10, 20), of(10, 5), []string{
			"buckets stay as they are", "owners take nothing beyond what checks need; what they have taken may still be spent",
		}},
		{"a local limit is removed", local, nil, []string{"removed: checks that name it fail from now on; what buckets hold is forgotten as time passes", unseen}},
		{"a local limit is strong", local, ten, []string{"buckets stay as they are", "owners decide every check; what gateways and clients hold is void within a second or so", unseen}},
		{"a limit is local", ten, local, []string{"buckets stay as they are", "each gateway and each client decides by a bucket of its own, and asks no node"}},
		{"the same in reserve", reserved(0), reserved(5), nil},
		{"holds of a slow bucket", held(10, "1/h", 0), held(10, "1/h", time.Minute), []string{fresh, "holds last up to 1m, and a new one that expires is charged"}},
		{"no holds of a slow bucket", held(10, "1/h", time.Minute), held(10, "1/h", 0), []string{fresh, "new holds are refused; those that are open can be settled no more"}},
		{"a slow bucket", held(10, "1/s", time.Minute), held(10, "1/h", time.Minute), []string{
			fresh, "holds last up to 1m, and a new one that expires is charged; those that are open can be settled no more",
		}},
	} {
		if got := strings.Join(limit.Effects(tt.before, tt.after), "\n"); got != strings.Join(tt.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", tt.what, got, strings.Join(tt.want, "\n"))
		}
	}
}

// What the words say of an empty bucket is what becomes of one.
func TestEffectsAreTrue(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	has, waits := regexp.MustCompile(`an empty bucket has (\d+) at once$`), regexp.MustCompile(`an empty bucket has its next token after (\S+)$`)
	for range 2000 {
		draw := func() *limit.Rule {
			per := []string{"s", "m", "7s", "100ms", "h"}[random.IntN(5)]
			return bucketOf(t, 1+random.Int64N(200), strconv.FormatInt(1+random.Int64N(50), 10)+"/"+per, limit.Deny)
		}
		before, after := draw(), draw()
		said := limit.Effects(before, after)
		if before.Capacity == after.Capacity && before.Refill == after.Refill {
			continue
		}
		const now = int64(1e18)
		tat, ok := before.Decide(limit.At(now), now, before.Capacity)
		if !ok {
			t.Fatal("a full bucket is not full")
		}
		tat = after.Carry(before, tat)
		cost := int64(1)
		at := now
		if found := has.FindStringSubmatch(said[1]); found != nil {
			cost, _ = strconv.ParseInt(found[1], 10, 64)
		} else if found = waits.FindStringSubmatch(said[1]); found != nil {
			wait, err := time.ParseDuration(found[1])
			if err != nil {
				t.Fatal(err)
			}
			at += int64(wait)
			if _, ok := after.Decide(tat, now, 1); ok {
				t.Errorf("seed %d: %v to %v: %q, and it has one at once", seed, before.Limit, after.Limit, said)
			}
		} else {
			t.Fatalf("%q says nothing of an empty bucket", said)
		}
		if _, ok := after.Decide(tat, at, cost); !ok {
			t.Errorf("seed %d: %v to %v: %q, and a check of %d is denied then", seed, before.Limit, after.Limit, said, cost)
		}
		if _, ok := after.Decide(tat, at, cost+1); ok && at == now {
			t.Errorf("seed %d: %v to %v: %q, and it has more", seed, before.Limit, after.Limit, said)
		}
	}
}

// What the words say of windows is what becomes of them.
func TestEffectsOfWindowsAreTrue(t *testing.T) {
	const now = int64(1e18)
	ten, twenty, hour := windowOf(t, 10, time.Minute), windowOf(t, 20, time.Minute), windowOf(t, 10, time.Hour)
	var m limit.Memory
	for range 5 {
		if o := m.Decide(ten, now, 1); !o.Allowed {
			t.Fatal("a half is denied")
		}
	}
	if o := m.Look(twenty, now, 0); o.Remaining != 10 {
		t.Errorf("half of 10 leaves %d of 20", o.Remaining)
	}
	if o := m.Look(twenty, now+int64(time.Minute), 0); o.Remaining != 20 {
		t.Errorf("the next window has %d of 20", o.Remaining)
	}
	if o := m.Look(hour, now, 0); o.Remaining != 10 {
		t.Errorf("another window has %d of 10", o.Remaining)
	}
}

func TestDocumentSize(t *testing.T) {
	fits := "limits: {}\n#" + strings.Repeat("x", limit.MaxDocument-len("limits: {}\n#"))
	if _, err := limit.ReadDocument([]byte(fits)); err != nil {
		t.Errorf("a document of %d bytes: %v", len(fits), err)
	}
	_, err := limit.ReadDocument([]byte(fits + "x"))
	if err == nil || !strings.Contains(err.Error(), "document: has 1048577 bytes; a limits document has at most 1048576 (1 MiB)") {
		t.Errorf("one more: %v", err)
	}
}
