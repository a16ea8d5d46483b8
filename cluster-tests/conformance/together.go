package conformance

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

var limitNames = []string{"demo", "fast", "odd", "slow"}

// togetherAsModel compares each answer of a random history of requests of several keys with that of the model, which decides each
// at one moment, and what every bucket has left after it.
func togetherAsModel(h *harness) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	model := NewModel(h.doc, h.now.Load)
	keys := []string{"user:1", "user:2", "org:a/b//..", "ключ"}
	denied := 0
	for range 150 {
		h.advance(time.Duration(random.Int64N(int64(1) << random.IntN(38))))
		rs := drawTogether(random, keys)
		want, err := model.CheckAll(h.Context(), rs)
		if err != nil {
			h.Fatalf("seed %d: the model on %+v: %v", seed, rs, err)
		}
		got, err := h.CheckAll(h.Context(), rs)
		if err != nil || got.Allowed != want.Allowed || len(got.Decisions) != len(rs) || (got.Denied == nil) != got.Allowed {
			h.Fatalf("seed %d: %+v\ngot  %+v, %v\nwant %+v", seed, rs, got, err, want)
		}
		if d := got.Denied; d != nil {
			denied++
			if o := outcomeOf(got.Decisions[d.Check], d.Limit); rs[d.Check].Key != d.Key || o == nil || o.Allowed {
				h.Fatalf("seed %d: %+v is denied by %+v, whose answer is %+v", seed, rs, d, o)
			}
		}
		for i, d := range got.Decisions {
			if receipts := got.Allowed && rs[i].Receipt && !rs[i].Look; receipts != (len(d.Receipts) == len(rs[i].Limits)) {
				h.Fatalf("seed %d: request %d of %+v has %d receipts, allowed %v", seed, i, rs, len(d.Receipts), got.Allowed)
			}
		}
		for _, key := range keys {
			for _, name := range limitNames {
				look := request(key, 0, name)
				left, err := model.Check(h.Context(), look)
				if err != nil {
					h.Fatal(err)
				}
				if got, want := h.remaining(key, name), left.Limits[0].Remaining; got != want {
					h.Fatalf("seed %d: after %+v, allowed %v, %s of %s has %d left, want %d", seed, rs, want, name, key, got, want)
				}
			}
		}
	}
	if denied == 0 {
		h.Errorf("seed %d: nothing was denied", seed)
	}
}

// drawTogether draws requests that name no limit of a key twice.
func drawTogether(random *rand.Rand, keys []string) []limit.Request {
	var rs []limit.Request
	named := map[bucketName]bool{}
	for range 1 + random.IntN(5) {
		key := keys[random.IntN(len(keys))]
		var names []string
		for _, at := range random.Perm(len(limitNames))[:1+random.IntN(2)] {
			if name := (bucketName{key, limitNames[at]}); !named[name] {
				named[name] = true
				names = append(names, name.limit)
			}
		}
		if len(names) > 0 {
			r := request(key, random.Int64N(6), names...)
			r.Receipt = random.IntN(2) == 0
			rs = append(rs, r)
		}
	}
	return rs
}

func outcomeOf(d limit.Decision, name string) *limit.Outcome {
	for i := range d.Limits {
		if d.Limits[i].Name == name {
			return &d.Limits[i]
		}
	}
	return nil
}

// togetherAtOnce has callers ask for several keys at the same time while no time passes. Some may be denied by what others have not
// given back yet. When all is quiet, every bucket lacks what the whole requests that were admitted cost, and not a token more or less.
func togetherAtOnce(h *harness) {
	const callers, each = 8, 25
	users := []string{"user:1", "user:2", "user:3"}
	var admitted [3]atomic.Int64
	var all, denied atomic.Int64
	var wait sync.WaitGroup
	for c := range callers {
		wait.Go(func() {
			for i := range each {
				u := (c + i) % len(users)
				rs := []limit.Request{request("ip:"+users[u], 2, "fast"), request(users[u], 1, "demo"), request("org", 1, "odd")}
				if i%2 == 1 { // the bucket that all share comes first
					rs[0], rs[2] = rs[2], rs[0]
				}
				switch d, err := h.CheckAll(h.Context(), rs); {
				case err != nil:
					h.Errorf("%+v: %v", rs, err)
				case d.Allowed:
					admitted[u].Add(1)
					all.Add(1)
				default:
					denied.Add(1)
				}
			}
		})
	}
	wait.Wait()
	if all.Load() == 0 || denied.Load() == 0 {
		h.Errorf("%d requests were admitted, %d denied", all.Load(), denied.Load())
	}
	for u, key := range users {
		n := admitted[u].Load()
		for _, b := range []struct {
			key, name string
			lacks     int64
		}{{key, "demo", n}, {"ip:" + key, "fast", 2 * n}} {
			if got, want := h.remaining(b.key, b.name), h.rule(b.name).Capacity-b.lacks; got != want {
				h.Errorf("%s of %s has %d left after %d whole requests, want %d", b.name, b.key, got, n, want)
			}
		}
	}
	if got, want := h.remaining("org", "odd"), h.rule("odd").Capacity-all.Load(); got != want {
		h.Errorf("the bucket that all share has %d left after %d whole requests, want %d", got, all.Load(), want)
	}
}

// badTogether sends requests of several keys that can never be decided: none is charged.
func badTogether(h *harness) {
	good, again := request("user:42", 1, "demo"), request("org", 1, "slow")
	again.ID = "again"
	many := make([]limit.Request, limit.MaxAll+1)
	for i := range many {
		many[i] = request("k"+strconv.Itoa(i), 1, "slow")
	}
	for field, rs := range map[string][]limit.Request{
		"checks":               nil,
		"checks[1].key":        {good, request("", 1, "demo")},
		"checks[1].cost":       {good, request("org", -1, "demo")},
		"checks[1].limits":     {good, request("org", 1)},
		"checks[1].limits[0]":  {good, request("user:42", 2, "demo")},
		"checks[1].request_id": {good, again},
	} {
		_, err := h.CheckAll(h.Context(), rs)
		wantField(h.T, err, field)
	}
	_, err := h.CheckAll(h.Context(), many)
	wantField(h.T, err, "checks")
	_, err = h.CheckAll(h.Context(), []limit.Request{good, request("org", 1, "nobody"), request("ip", 1, "demo")})
	if !errors.Is(err, limit.ErrUnknownLimit) || !strings.Contains(err.Error(), "checks[1]") || !strings.Contains(err.Error(), "nobody") {
		h.Errorf("got %v, want %v of checks[1]", err, limit.ErrUnknownLimit)
	}
	for _, key := range []string{"user:42", "ip"} {
		if got := h.remaining(key, "demo"); got != 10 {
			h.Errorf("requests that were refused were charged: %d of 10 remain of %s", got, key)
		}
	}
	if d, err := h.CheckAll(h.Context(), many[1:]); err != nil || !d.Allowed {
		h.Errorf("%d requests: %+v, %v", limit.MaxAll, d, err)
	}
}
