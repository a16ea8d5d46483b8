package conformance

import (
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

func exactAdmission(h *harness) {
	spend := func() int64 { return h.drain("user:42", "odd") }
	if got := spend(); got != 7 {
		h.Fatalf("a full bucket of 7 admitted %d", got)
	}
	for _, step := range []struct {
		wait time.Duration
		want int64
	}{
		{2333333333, 0}, // a token takes 7/3 s: 2,333,333,333.3… ns
		{1, 1},
		{7*time.Second - 2333333334, 2},
		{time.Hour, 7},
	} {
		h.advance(step.wait)
		if got := spend(); got != step.want {
			h.Errorf("after another %v the bucket admitted %d, want %d", step.wait, got, step.want)
		}
	}
}

// sameAsModel compares each decision of a random history with that of the model.
func sameAsModel(h *harness) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	model := NewModel(h.doc, h.now.Load)
	names := []string{"demo", "fast", "odd", "slow"}
	keys := []string{"user:1", "user:2", "a/b//..", "ключ"}
	for range 400 {
		h.advance(time.Duration(random.Int64N(int64(1) << random.IntN(42))))
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		r := request(keys[random.IntN(len(keys))], random.Int64N(1<<random.IntN(8)), names[:1+random.IntN(len(names))]...)
		want, err := model.Check(h.Context(), r)
		if err != nil {
			h.Fatalf("seed %d: the model on %+v: %v", seed, r, err)
		}
		if got := h.check(r); !reflect.DeepEqual(got, want) {
			h.Fatalf("seed %d: %+v\ngot  %+v\nwant %+v", seed, r, got, want)
		}
	}
}

func denialOutcome(h *harness) {
	const perToken = 6 * time.Minute // 10/1h
	h.check(request("user:42", 8, "demo"))
	want := limit.Outcome{
		Name: "demo", Limit: 10, Remaining: 2,
		RetryAfter: 3 * perToken, ResetAfter: 8 * perToken,
	}
	d := h.check(request("user:42", 5, "demo"))
	if d.Allowed || d.Limits[0] != want || len(d.Receipts) > 0 {
		h.Fatalf("got %+v, want a denial with %+v", d, want)
	}
	h.advance(want.RetryAfter - 1)
	if d := h.check(request("user:42", 5, "demo")); d.Allowed || d.Limits[0].RetryAfter != 1 {
		h.Errorf("a nanosecond early: got %+v", d)
	}
	h.advance(1)
	if d := h.check(request("user:42", 5, "demo")); !d.Allowed || d.Limits[0].RetryAfter != 0 {
		h.Errorf("at the time it was told: got %+v", d)
	}
}

// denialWait spends some of a bucket, and is denied the rest and one token more.
func denialWait(h *harness) {
	for _, name := range []string{"demo", "fast", "odd", "slow"} {
		capacity := h.rule(name).Capacity
		h.check(request("user:42", capacity/2, name))
		all := request("user:42", capacity-capacity/2+1, name)
		d := h.check(all)
		wait := d.Limits[0].RetryAfter
		if d.Allowed || wait <= 0 {
			h.Fatalf("%s: got %+v, want a denial that says when", name, d)
		}
		h.advance(wait - 1)
		if d := h.check(all); d.Allowed || d.Limits[0].RetryAfter != 1 {
			h.Errorf("%s, a nanosecond early: got %+v", name, d)
		}
		h.advance(1)
		if d := h.check(all); !d.Allowed {
			h.Errorf("%s, at the time it was told: got %+v", name, d)
		}
	}
}

func neverPasses(h *harness) {
	for _, cost := range []int64{11, 1 << 62} {
		d := h.check(request("user:42", cost, "demo"))
		want := limit.Outcome{Name: "demo", Never: true, Limit: 10, Remaining: 10}
		if d.Allowed || d.Limits[0] != want {
			h.Errorf("cost %d: got %+v, want %+v", cost, d, want)
		}
	}
	if d := h.check(request("user:42", 10, "demo")); !d.Allowed {
		h.Errorf("the whole bucket was denied afterwards: %+v", d)
	}
}

func allOrNone(h *harness) {
	h.check(request("user:42", 10, "demo"))
	d := h.check(request("user:42", 3, "fast", "demo"))
	if d.Allowed || !d.Limits[0].Allowed || d.Limits[1].Allowed {
		h.Fatalf("got %+v, want a denial by demo alone", d)
	}
	if got := d.Limits[0].Remaining; got != 100 {
		h.Errorf("fast says that %d remain, want 100", got)
	}
	if got := h.remaining("user:42", "fast"); got != 100 {
		h.Errorf("fast was charged for what demo denied: %d of 100 remain", got)
	}
	if d := h.check(request("user:43", 3, "fast", "demo")); !d.Allowed || d.Limits[0].Remaining != 97 || d.Limits[1].Remaining != 7 {
		h.Errorf("got %+v, want both charged", d)
	}
}

func outcomeOrder(h *harness) {
	for _, names := range [][]string{{"slow", "demo", "fast", "odd"}, {"odd", "fast", "slow", "demo"}} {
		d := h.check(request("user:42", 1, names...))
		for i, name := range names {
			if d.Limits[i].Name != name {
				h.Errorf("outcome %d is of %q, want %q", i, d.Limits[i].Name, name)
			}
		}
	}
}

func peek(h *harness) {
	for range 3 {
		if d := h.check(request("user:42", 0, "demo")); !d.Allowed || d.Limits[0].Remaining != 10 || len(d.Receipts) > 0 {
			h.Fatalf("peek at a full bucket: %+v", d)
		}
	}
	h.check(request("user:42", 10, "demo"))
	if d := h.check(request("user:42", 0, "demo")); !d.Allowed || d.Limits[0].Remaining != 0 {
		h.Errorf("peek at an empty bucket: %+v", d)
	}
}

func inlineLimit(h *harness) {
	burst := limit.Inline(limit.Limit{Name: "burst", Capacity: 2, Refill: limit.Refill{Tokens: 1, Per: time.Hour}})
	r := limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("demo"), burst}, Cost: 1}
	for want := int64(1); want >= 0; want-- {
		if d := h.check(r); !d.Allowed || d.Limits[1].Remaining != want || d.Limits[1].Limit != 2 {
			h.Errorf("got %+v, want %d remaining of burst", d, want)
		}
	}
	if d := h.check(r); d.Allowed || d.Limits[0].Remaining != 8 {
		h.Errorf("got %+v, want a denial by burst that leaves 8 of demo", d)
	}
}

func callersAtOnce(h *harness) {
	const callers, checks = 64, 50
	var (
		admitted atomic.Int64
		wait     sync.WaitGroup
	)
	for range callers {
		wait.Go(func() {
			for range checks {
				d, err := h.Check(h.Context(), request("user:42", 1, "slow"))
				if err != nil {
					h.Error(err)
					return
				}
				if d.Allowed {
					admitted.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if got := admitted.Load(); got != 1000 {
		h.Errorf("%d callers with %d checks each: %d admitted, want 1000", callers, checks, got)
	}
}

func repeatedRequest(h *harness) {
	r := request("user:42", 3, "demo")
	r.ID, r.Receipt = "9f3c", true
	first := h.check(r)
	if again := h.check(r); !reflect.DeepEqual(again, first) {
		h.Errorf("the repeated request got\n%+v, the first one\n%+v", again, first)
	}
	if got := h.remaining("user:42", "demo"); got != 7 {
		h.Errorf("%d of 10 remain, want 7", got)
	}
	r.ID = "9f3d"
	h.check(r)
	if got := h.remaining("user:42", "demo"); got != 4 {
		h.Errorf("%d of 10 remain after another request, want 4", got)
	}
}
