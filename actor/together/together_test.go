package together_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/together"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const capacity = 10 // of the limit that these tests use

func of(key string, cost int64) limit.Request {
	return limit.Request{Key: key, Cost: cost, Look: cost == 0, Limits: []limit.Ref{limit.Named("demo")}}
}

// holding is of, as a hold.
func holding(key string, cost int64) limit.Request {
	r := of(key, cost)
	r.Hold = time.Minute
	return r
}

// A trouble is what becomes of one call.
type trouble int

const (
	none   trouble = iota
	failed         // it has no effect
	lost           // it has its effect, and the answer is lost
	late           // it has its effect, and no answer comes
	died           // of a return: another owner answers, which has not made the receipts
	troubles
)

// faulty is a model that is in trouble, and counts what that must cost.
type faulty struct {
	*conformance.Model
	check, giveBack func() trouble

	mu     sync.Mutex
	losses map[string]int64 // tokens that a key has lost
	asked  []string
	given  []string
	holds  map[uint64][]limit.Receipt // what each hold has taken, by its id
}

func newFaulty(tb testing.TB, check, giveBack func() trouble) *faulty {
	tb.Helper()
	always := func() trouble { return none }
	f := &faulty{Model: conformance.NewNoonModel(tb), check: always, giveBack: always, losses: map[string]int64{}, holds: map[uint64][]limit.Receipt{}}
	if check != nil {
		f.check = check
	}
	if giveBack != nil {
		f.giveBack = giveBack
	}
	return f
}

func (f *faulty) lose(key string, tokens int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.losses[key] += tokens
}

func (f *faulty) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	f.mu.Lock()
	f.asked = append(f.asked, r.Key)
	f.mu.Unlock()
	what := f.check()
	if what == failed || what == died {
		return limit.Decision{}, limit.ErrUnavailable
	}
	d, err := f.decide(ctx, r)
	if what == none || err != nil {
		return d, err
	}
	if d.Allowed {
		f.lose(r.Key, r.Tokens())
	}
	if what == late {
		<-ctx.Done()
		return limit.Decision{}, ctx.Err()
	}
	return limit.Decision{}, limit.ErrUnavailable
}

// decide has the model decide, which takes no holds: a hold is a check with a receipt.
func (f *faulty) decide(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if r.Hold == 0 {
		return f.Model.Check(ctx, r)
	}
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	r.Hold, r.Receipt = 0, true
	d, err := f.Model.Check(ctx, r)
	if err != nil || !d.Allowed {
		return d, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	id := uint64(len(f.holds) + 1)
	f.holds[id], d.Receipts = d.Receipts, nil
	d.Hold = &limit.Hold{Key: r.Key, Granted: r.Cost, Limits: []limit.Held{{Limit: "demo", ID: id}}}
	return d, nil
}

// Settle gives back the whole hold.
func (f *faulty) Settle(ctx context.Context, s limit.Settlement) (limit.Settled, error) {
	if s.Used != 0 || s.Open || s.For != 0 {
		panic("a hold that is given back is settled with nothing used")
	}
	f.mu.Lock()
	receipts, ok := f.holds[s.Hold.Limits[0].ID]
	f.mu.Unlock()
	if !ok {
		return limit.Settled{}, limit.ErrUnknownHold
	}
	_, err := f.Return(ctx, s.Hold.Key, receipts)
	return limit.Settled{Returned: s.Hold.Granted}, err
}

func (f *faulty) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	f.mu.Lock()
	f.given = append(f.given, key)
	f.mu.Unlock()
	what := f.giveBack()
	if what != failed && what != died {
		returned, err := f.Model.Return(ctx, key, receipts)
		switch what {
		case none:
			return returned, err
		case late:
			<-ctx.Done()
			return nil, ctx.Err()
		default:
			return nil, limit.ErrUnavailable
		}
	}
	for _, r := range receipts {
		length := r.End - r.Start
		for _, again := range r.Reuses {
			length += again.End - again.Start
		}
		f.lose(key, length/int64(6*time.Minute)) // a token of demo
	}
	if what == died {
		return make([]bool, len(receipts)), nil
	}
	return nil, limit.ErrUnavailable
}

// left is what a key has.
func (f *faulty) left(tb testing.TB, key string) int64 {
	tb.Helper()
	d, err := f.Model.Check(context.Background(), of(key, 0))
	if err != nil {
		tb.Fatal(err)
	}
	return d.Limits[0].Remaining
}

// spawner runs functions in the background until the test ends.
func spawner(ctx context.Context, wait *sync.WaitGroup) func(func(context.Context)) bool {
	return func(f func(context.Context)) bool {
		wait.Go(func() { f(ctx) })
		return true
	}
}

// A story is requests of several keys, and what becomes of the checks and returns that they make.
type story struct {
	requests        [][]limit.Request
	checks, returns []trouble // of one after another; then there is none
	background      bool      // what is given back is given back there
}

var stories = rapid.Custom(func(t *rapid.T) story {
	scripts := func(most trouble) *rapid.Generator[[]trouble] {
		usually := rapid.Map(rapid.IntRange(-2*int(most), int(most)), func(n int) trouble { return trouble(max(0, n)) })
		return rapid.OneOf(rapid.Just[[]trouble](nil), rapid.SliceOfN(usually, 0, 40))
	}
	s := story{
		checks: scripts(late).Draw(t, "checks"), returns: scripts(died).Draw(t, "returns"), background: rapid.Bool().Draw(t, "background"),
	}
	for range rapid.IntRange(1, 12).Draw(t, "requests") {
		order := rapid.Permutation([]string{"user", "org", "ip"}).Draw(t, "order")[:rapid.IntRange(1, 3).Draw(t, "keys")]
		rs := make([]limit.Request, len(order))
		for i, key := range order {
			if rs[i] = of(key, rapid.Int64Range(0, 5).Draw(t, "cost")); !rs[i].Look && rapid.Bool().Draw(t, "hold") {
				rs[i] = holding(key, rs[i].Cost)
			}
		}
		s.requests = append(s.requests, rs)
	}
	return s
})

// told gives one trouble after another, then none.
func told(script []trouble) func() trouble {
	var mu sync.Mutex
	return func() trouble {
		mu.Lock()
		defer mu.Unlock()
		if len(script) == 0 {
			return none
		}
		next := script[0]
		script = script[1:]
		return next
	}
}

// play plays the story, in a bubble, and says what is wrong at its end.
func (s *story) play(t *testing.T) (wrong []string) {
	t.Helper()
	f := newFaulty(t, told(s.checks), told(s.returns))
	var wait sync.WaitGroup
	var background func(func(context.Context)) bool
	if s.background {
		background = spawner(t.Context(), &wait)
	}
	admitted := map[string]int64{}
	for _, rs := range s.requests {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		d, err := together.CheckAll(ctx, f, rs, background)
		cancel()
		if err == nil && d.Allowed {
			for _, r := range rs {
				admitted[r.Key] += r.Tokens()
			}
		}
		if err != nil && len(s.checks) == 0 {
			wrong = append(wrong, fmt.Sprintf("%+v: %v", rs, err))
		}
	}
	wait.Wait()
	for _, key := range []string{"user", "org", "ip"} {
		if got, want := f.left(t, key), capacity-admitted[key]-f.losses[key]; got != want {
			wrong = append(wrong, fmt.Sprintf("%s has %d left: admitted %d, lost %d, so %d should be", key, got, admitted[key], f.losses[key], want))
		}
	}
	return wrong
}

// TestAllOrNothingUnderFaults draws requests of several keys and what becomes of each check and each return. When all is quiet, a key
// lacks what the whole requests that were admitted cost, and what was lost on the way: never less, and without faults nothing more.
func TestAllOrNothingUnderFaults(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := stories.Draw(rt, "story")
		var wrong []string
		synctest.Test(t, func(t *testing.T) { wrong = s.play(t) })
		if len(wrong) > 0 {
			rt.Fatal(strings.Join(wrong, "; "))
		}
	})
}

// TestOrder has the second of three keys deny: the third is never asked, and only the first gives back.
func TestOrder(t *testing.T) {
	f := newFaulty(t, nil, nil)
	if _, err := f.Model.Check(t.Context(), of("user", capacity)); err != nil {
		t.Fatal(err)
	}
	f.asked = nil
	d, err := together.CheckAll(t.Context(), f, []limit.Request{of("ip", 1), of("user", 1), of("org", 1)}, nil)
	if err != nil || d.Allowed || d.Denied == nil || *d.Denied != (limit.Denial{Check: 1, Key: "user", Limit: "demo"}) {
		t.Errorf("got %+v, %v", d, err)
	}
	if !slices.Equal(f.asked, []string{"ip", "user"}) || !slices.Equal(f.given, []string{"ip"}) {
		t.Errorf("asked %v, given back %v", f.asked, f.given)
	}
	if len(d.Decisions[2].Limits) > 0 || len(d.Decisions[0].Receipts) > 0 || !d.Decisions[0].Allowed {
		t.Errorf("got %+v", d.Decisions)
	}
	if seconds, ok := d.RetryAfterSeconds(); !ok || seconds != 360 {
		t.Errorf("retry after %d, %v", seconds, ok)
	}
	f.given = nil
	if d, err := together.CheckAll(t.Context(), f, []limit.Request{of("ip", 1), of("org", 1)}, nil); err != nil || !d.Allowed || f.given != nil {
		t.Errorf("got %+v, %v; given back %v", d, err, f.given)
	}
}

// TestHolds settles the hold of the first key when the second one denies, and answers both if neither does.
func TestHolds(t *testing.T) {
	f := newFaulty(t, nil, nil)
	d, err := together.CheckAll(t.Context(), f, []limit.Request{holding("user", 3), of("org", 1), holding("ip", 2)}, nil)
	if err != nil || !d.Allowed || d.Decisions[0].Hold == nil || d.Decisions[1].Hold != nil || d.Decisions[2].Hold == nil || f.given != nil {
		t.Errorf("got %+v, %v; given back %v", d, err, f.given)
	}
	d, err = together.CheckAll(t.Context(), f, []limit.Request{holding("user", 3), of("org", capacity)}, nil)
	if err != nil || d.Allowed || d.Decisions[0].Hold != nil || !slices.Equal(f.given, []string{"user"}) || f.left(t, "user") != capacity-3 {
		t.Errorf("got %+v, %v; given back %v, %d left", d, err, f.given, f.left(t, "user"))
	}
}

// TestErrorInTheMiddle names the check that had no decision, and gives back what was taken.
func TestErrorInTheMiddle(t *testing.T) {
	var calls int
	f := newFaulty(t, func() trouble {
		if calls++; calls == 3 {
			return failed
		}
		return none
	}, nil)
	_, err := together.CheckAll(t.Context(), f, []limit.Request{of("ip", 1), of("user", 2), of("org", 3)}, nil)
	if !errors.Is(err, limit.ErrUnavailable) || !strings.HasPrefix(err.Error(), `checks[2], "org": `) {
		t.Errorf("got %v", err)
	}
	if ip, user := f.left(t, "ip"), f.left(t, "user"); ip != capacity || user != capacity {
		t.Errorf("%d and %d of %d are left", ip, user, capacity)
	}
}

// TestDeadlineInTheMiddle has the third check wait until the deadline passes. The caller waits no longer than that, though a return is
// slow; and what was taken is given back after it.
func TestDeadlineInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls int
		slow := make(chan struct{})
		f := newFaulty(t, func() trouble {
			if calls++; calls == 3 {
				return late
			}
			return none
		}, func() trouble { <-slow; return none })
		var wait sync.WaitGroup
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
		defer cancel()
		_, err := together.CheckAll(ctx, f, []limit.Request{of("ip", 1), of("user", 2), of("org", 3)}, spawner(t.Context(), &wait))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != 40*time.Millisecond {
			t.Errorf("after %v: %v", took, err)
		}
		close(slow)
		wait.Wait()
		if ip, user, org := f.left(t, "ip"), f.left(t, "user"), f.left(t, "org"); ip != capacity || user != capacity || org != capacity-3 {
			t.Errorf("%d, %d and %d of %d are left", ip, user, org, capacity)
		}
	})
}

// TestSilentOwner denies while the owners of two keys do not take back: the answer waits a second for both, and not longer.
func TestSilentOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t, nil, func() trouble { return late })
		for _, background := range []bool{false, true} {
			var wait sync.WaitGroup
			var spawn func(func(context.Context)) bool
			if background {
				spawn = spawner(t.Context(), &wait)
			}
			start := time.Now()
			d, err := together.CheckAll(t.Context(), f, []limit.Request{of("ip", 1), of("org", 1), of("user", capacity+1)}, spawn)
			if took := time.Since(start); err != nil || d.Allowed || took != time.Second {
				t.Errorf("in the background %v, after %v: %+v, %v", background, took, d, err)
			}
			wait.Wait()
		}
	})
}

// TestClosed gives nothing back when what would do it is closed, or closes meanwhile: the tokens are lost, and the answer is given.
func TestClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFaulty(t, nil, func() trouble { return late })
		rs := []limit.Request{of("ip", 1), of("user", capacity+1)}
		if d, err := together.CheckAll(t.Context(), f, rs, func(func(context.Context)) bool { return false }); err != nil || d.Allowed || f.given != nil {
			t.Errorf("closed: %+v, %v, given back %v", d, err, f.given)
		}
		ctx, closing := context.WithCancel(t.Context())
		closing()
		var wait sync.WaitGroup
		start := time.Now()
		d, err := together.CheckAll(t.Context(), f, rs, spawner(ctx, &wait))
		if err != nil || d.Allowed || time.Since(start) != 0 {
			t.Errorf("closing: %+v, %v after %v", d, err, time.Since(start))
		}
	})
}

// TestPanics lets a bug of a check and one of a return reach the caller, whose goroutine is guarded; what was taken is given back.
func TestPanics(t *testing.T) {
	attempt := func(f *faulty) (fault any) {
		defer func() { fault = recover() }()
		var wait sync.WaitGroup
		defer wait.Wait()
		_, err := together.CheckAll(t.Context(), f, []limit.Request{of("ip", 1), of("user", capacity+1)}, spawner(t.Context(), &wait))
		return fmt.Errorf("no panic: %w", err)
	}
	var calls int
	f := newFaulty(t, func() trouble {
		if calls++; calls == 2 {
			panic("a bug")
		}
		return none
	}, nil)
	if fault := attempt(f); fault != "a bug" || f.left(t, "ip") != capacity {
		t.Errorf("a check: %v, %d left", fault, f.left(t, "ip"))
	}
	if fault := attempt(newFaulty(t, nil, func() trouble { panic("a bug") })); fault != "a bug" {
		t.Errorf("a return: %v", fault)
	}
}
