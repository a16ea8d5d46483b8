package limit_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Ids differ, and tell of a hold that is not listed whether it was settled: all were, but those that came to another end, of which the
// latest are kept in mind, and those up to the last of the earlier ones. Ids that were made up, or are of another bucket, tell of nothing.
func TestHoldNumbers(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0)).Uint64
	const many = 10_000
	var (
		numbers, others, none limit.HoldNumbers
		ids                   []uint64
		seen                  = map[uint64]bool{}
	)
	for range many {
		id := numbers.Next(draw)
		if id == 0 || seen[id] {
			t.Fatalf("hold %d has id %d", len(ids), id)
		}
		seen[id] = true
		ids = append(ids, id)
		others.Next(draw)
	}
	for i, id := range ids {
		if !numbers.Settled(id) {
			t.Fatalf("hold %d was not settled", i)
		}
		if others.Settled(id) || none.Settled(id) || numbers.Settled(id^1<<63) {
			t.Fatalf("hold %d, of another bucket or made up, was settled", i)
		}
	}
	others.Forget(ids[many-1])
	numbers.Forget(draw())
	const kept = 256
	order := rand.New(rand.NewPCG(seed, 1)).Perm(many) // that in which they came to another end
	ended := map[int]bool{}
	for n, i := range order[:2*kept] {
		numbers.Forget(ids[i])
		numbers.Forget(ids[i]) // once more, which tells nothing new
		if ended[i] = true; n%100 != 99 && n != kept-1 {
			continue
		}
		beyond := slices.Sorted(maps.Keys(ended))
		unsure := -1
		if over := len(beyond) - kept; over > 0 {
			unsure = beyond[over-1]
		}
		for j, id := range ids {
			if got, want := numbers.Settled(id), j > unsure && !ended[j]; got != want {
				t.Fatalf("%d came to another end, the last of which nothing more is kept is %d; hold %d was settled: %v, want %v", len(ended), unsure, j, got, want)
			}
		}
	}
}

// What one bucket has numbered twice, since a write came to nothing, has two ids, and nobody can tell the next id from those before.
func TestHoldNumbersRepeated(t *testing.T) {
	draw := rand.Uint64
	var numbers limit.HoldNumbers
	numbers.Next(draw)
	again := numbers
	first, second := numbers.Next(draw), again.Next(draw)
	if first == second {
		t.Errorf("both are %d", first)
	}
	if !numbers.Settled(second) || !again.Settled(first) {
		t.Error("the numbers differ")
	}
	ones := 0
	for range 1000 {
		a, b := numbers.Next(draw), numbers.Next(draw)
		for x := a ^ b; x > 0; x &= x - 1 {
			ones++
		}
	}
	if ones < 31_000 || ones > 33_000 { // 32,000 of 64,000 bits: within 7.9 standard deviations
		t.Errorf("%d of 64,000 bits differ between neighbors", ones)
	}
}

// TestLedgerFullOfHolds lists as many open holds as it may, whatever has become of others: what was settled for what was used goes first
// and is known still; what has expired, or was not charged in full, goes where there is no other room, and is not told as settled.
func TestLedgerFullOfHolds(t *testing.T) {
	rule := ruleOf(t, limit.Limit{Name: "l", Algorithm: limit.FixedWindow, Capacity: 10_000, Window: time.Hour, Holds: limit.Holds{Longest: time.Hour}})
	l, now := rule.NewLedger(0), int64(1e18)
	hold := func(lasts time.Duration) (id uint64) {
		t.Helper()
		if l.FullOfHolds(now) {
			t.Fatalf("full with %d holds listed", len(l.Holds()))
		}
		id = l.NextHold(rand.Uint64)
		l.Hold(now, 1, id, now+lasts.Nanoseconds(), false)
		return id
	}
	expired, short := hold(time.Second), hold(time.Minute)
	l.Settle(now, limit.HoldChange{ID: short, Used: 20_000}, 0)
	var plain []uint64
	for range 300 {
		plain = append(plain, hold(time.Minute))
		l.Settle(now, limit.HoldChange{ID: plain[len(plain)-1], Used: 0}, 0)
	}
	now += int64(2 * time.Second)
	for i := range limit.MaxHolds - 2 {
		hold(time.Minute)
		for name, id := range map[string]uint64{"has expired": expired, "was not charged in full": short} {
			if _, listed := l.HoldOf(id); !listed {
				t.Fatalf("what %s is listed no more, with room for %d", name, limit.MaxHolds-2-i)
			}
		}
	}
	for _, id := range plain {
		if !l.WasSettled(id) {
			t.Fatal("what was settled for what was used is not known any more")
		}
	}
	hold(time.Minute)
	hold(time.Minute)
	if !l.FullOfHolds(now) {
		t.Errorf("there is room beside %d open holds", limit.MaxHolds)
	}
	stored := rule.NewLedger(0)
	if err := stored.Read(l.Append(nil, limit.OwnerID{1}), limit.OwnerID{2}); err != nil {
		t.Fatal(err)
	}
	for who, l := range map[string]*limit.Ledger{"its owner": l, "another one": stored} {
		if l.WasSettled(expired) || l.WasSettled(short) {
			t.Errorf("what has expired, or was not charged in full, is told as settled for what a settlement says by %s", who)
		}
		if !l.WasSettled(plain[0]) {
			t.Errorf("what was settled for what was used is not known to %s", who)
		}
	}
}
