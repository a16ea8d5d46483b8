package owner_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
)

// Steps of a key that is checked again and again take no memory, if the caller brings that of the outcomes: neither when
// they admit, with all the reservations in the background, nor when they deny.
func TestStepsTakeNoMemory(t *testing.T) {
	for name, c := range map[string]struct {
		rule    *limit.Rule
		allowed bool
	}{
		"admit": {mustRule(t, "a", 1_000_000, 1_000_000_000, time.Second), true},
		"deny":  {mustRule(t, "a", 1, 1, time.Hour), false},
	} {
		t.Run(name, func(t *testing.T) {
			o, out, now := owner.New(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}, start
			rules, room := []*limit.Rule{c.rule}, make([]limit.Outcome, 1)
			step := func() (allowed bool) {
				out.Reset()
				o.Check(owner.Check{At: now, Deadline: now + second, Rules: rules, Cost: 1, Outcomes: room}, out)
				if len(out.Replies) > 0 {
					d := out.Replies[0].Decision
					allowed = d.Allowed
					if &d.Limits[0] != &room[0] {
						t.Error("the outcome is not in the room for it")
					}
				}
				promptly(o, out, now)
				now += 1000
				return allowed
			}
			for range 1000 { // after which the key is known to be busy
				step()
			}
			other := 0
			allocs := testing.AllocsPerRun(10_000, func() {
				if step() != c.allowed {
					other++
				}
			})
			if allocs > 0 || other > 0 {
				t.Errorf("a step takes memory %v times, and %d were not to be decided so", allocs, other)
			}
		})
	}
}

// What the caller has no room for is allocated.
func TestRoomForOutcomes(t *testing.T) {
	rules := []*limit.Rule{mustRule(t, "a", 10, 1, time.Hour), mustRule(t, "b", 20, 1, time.Hour)}
	for room := range 4 {
		o, out := owner.New(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}
		mine := make([]limit.Outcome, 0, room)
		o.Check(owner.Check{At: start, Deadline: start + second, Rules: rules, Cost: 30, Outcomes: mine}, out)
		if len(out.Replies) != 1 || len(out.Replies[0].Decision.Limits) != 2 {
			t.Fatalf("with room for %d: %+v", room, out.Replies)
		}
		for i, got := range out.Replies[0].Decision.Limits {
			if got.Name != rules[i].Name || !got.Never || got.Limit != rules[i].Capacity {
				t.Errorf("with room for %d: %+v", room, got)
			}
		}
		if used := mine[:room]; room >= 2 != (room > 0 && used[0].Name == "a") {
			t.Errorf("with room for %d: there is %+v", room, used)
		}
	}
}

// Load is the highest demand that Views shows, and takes no memory.
func TestLoad(t *testing.T) {
	slow, fast := mustRule(t, "slow", 1000, 10, time.Second), mustRule(t, "fast", 1000, 1000, time.Second)
	o, out := owner.New(benchConfig(), limit.OwnerID{1}, 0), &owner.Out{}
	if got := o.Load(start); got != 0 {
		t.Errorf("the load of no bucket is %v", got)
	}
	for i := range int64(3) {
		for _, rules := range [][]*limit.Rule{{slow}, {fast}} {
			o.Check(owner.Check{At: start + i, Deadline: start + second, Rules: rules, Cost: 2 + i}, out)
			promptly(o, out, start+i)
		}
	}
	for _, now := range []int64{start + 3, start + owner.DefaultDelta/2, start + 2*owner.DefaultDelta} {
		want := 0.0
		for _, v := range o.Views(now) {
			want = max(want, v.Demand)
		}
		if got := o.Load(now); got != want || (want > 0) != (now < start+owner.DefaultDelta) {
			t.Errorf("the load is %v, the highest demand %v", got, want)
		}
	}
	if allocs := testing.AllocsPerRun(100, func() { o.Load(start) }); allocs > 0 {
		t.Errorf("it takes memory %v times", allocs)
	}
}

// What holds have spent again of line that came back in many pieces is counted, as long as they keep those.
func TestBytesCountPiecesOfHolds(t *testing.T) {
	rule := ruleFor(t, limit.Limit{
		Name: "tokens", Capacity: 40_000, Refill: limit.Refill{Tokens: 40_000, Per: 10 * time.Minute}, Holds: limit.Holds{Longest: time.Minute},
	})
	s := alone(t)
	const (
		rounds, pieces = 4, 1000
		pieceBytes     = 2 * int64(unsafe.Sizeof(limit.Pos{}))
	)
	inPieces := func() limit.Hold {
		var back []limit.Hold
		for range pieces {
			back = append(back, s.holds(1, 60*second, rule))
			s.decision(s.plain(1, rule))
		}
		for _, h := range back {
			s.settles(h, limit.Settlement{}, rule)
		}
		return s.holds(pieces, 60*second, rule)
	}
	for range rounds + 1 { // after which there is all room that is made once
		s.settles(inPieces(), limit.Settlement{Used: pieces}, rule)
	}
	first := s.owner.Bytes()
	var open []limit.Hold
	for range rounds {
		open = append(open, inPieces())
	}
	if more := s.owner.Bytes() - first; more < rounds*pieces*pieceBytes {
		t.Errorf("%d holds with %d pieces each take %d bytes", rounds, pieces, more)
	}
	for _, h := range open {
		s.settles(h, limit.Settlement{Used: pieces}, rule)
	}
	if more := s.owner.Bytes() - first; more > pieces*pieceBytes {
		t.Errorf("once all are settled, %d bytes more are counted", more)
	}
}
