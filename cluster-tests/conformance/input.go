package conformance

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// wantField fails t unless err is a *limit.FieldError of that field, or of one inside it.
func wantField(t *testing.T, err error, field string) {
	t.Helper()
	fe, ok := errors.AsType[*limit.FieldError](err)
	if !ok || fe.Field != field && !strings.HasPrefix(fe.Field, field+".") {
		t.Errorf("got error %v, want one of the field %q", err, field)
	}
}

// badKeys are keys that are not valid.
var badKeys = map[string]string{
	"an empty key":    "",
	"a long key":      strings.Repeat("k", limit.MaxKey+1),
	"a key not UTF-8": "user:\xff",
}

func badRequests(h *harness) {
	named := func(change func(*limit.Request)) limit.Request {
		r := request("user:42", 1, "demo")
		change(&r)
		return r
	}
	inline := func(l limit.Limit) limit.Request {
		return named(func(r *limit.Request) { r.Limits = append(r.Limits, limit.Inline(l)) })
	}
	hourly := limit.Refill{Tokens: 1, Per: time.Hour}
	bad := map[string]struct {
		request limit.Request
		field   string
	}{
		"no limits":             {named(func(r *limit.Request) { r.Limits = nil }), "limits"},
		"many limits":           {named(func(r *limit.Request) { r.Limits = make([]limit.Ref, limit.MaxLimits+1) }), "limits"},
		"a limit twice":         {request("user:42", 1, "demo", "demo"), "limits[1]"},
		"a limit without name":  {request("user:42", 1, "demo", ""), "limits[1]"},
		"a negative cost":       {request("user:42", -1, "demo"), "cost"},
		"a long id":             {named(func(r *limit.Request) { r.ID = strings.Repeat("i", limit.MaxID+1) }), "request_id"},
		"an id not UTF-8":       {named(func(r *limit.Request) { r.ID = "\xff" }), "request_id"},
		"an inline without cap": {inline(limit.Limit{Name: "burst", Refill: hourly}), "limits[1]"},
		"an inline, no refill":  {inline(limit.Limit{Name: "burst", Capacity: 1}), "limits[1]"},
		"an unknown algorithm":  {inline(limit.Limit{Name: "burst", Algorithm: "luck", Capacity: 1, Refill: hourly}), "limits[1]"},
		"a stored name inline":  {inline(limit.Limit{Name: "fast", Capacity: 1, Refill: hourly}), "limits.fast"},
	}
	for what, test := range bad {
		h.Run(what, func(t *testing.T) {
			_, err := h.Check(t.Context(), test.request)
			wantField(t, err, test.field)
		})
	}
	for what, key := range badKeys {
		h.Run(what, func(t *testing.T) {
			_, err := h.Check(t.Context(), request(key, 1, "demo"))
			wantField(t, err, "key")
		})
	}
	h.Run("an unknown limit", func(t *testing.T) {
		_, err := h.Check(t.Context(), request("user:42", 1, "demo", "nobody"))
		if !errors.Is(err, limit.ErrUnknownLimit) || !strings.Contains(err.Error(), "nobody") {
			t.Errorf("got %v, want %v with its name", err, limit.ErrUnknownLimit)
		}
	})
	if got := h.remaining("user:42", "demo"); got != 10 {
		h.Errorf("a request that was refused was charged: %d of 10 remain", got)
	}
	longest := strings.Repeat("k", limit.MaxKey)
	if !h.check(request(longest, 1, "demo")).Allowed {
		h.Errorf("the longest key was denied")
	}
}

func badLookups(h *harness) {
	demo, nobody := limit.Named("demo"), limit.Named("nobody")
	for what, call := range map[string]func(key string, ref limit.Ref) error{
		"inspect": func(key string, ref limit.Ref) error { _, err := h.Inspect(h.Context(), key, ref, ""); return err },
		"reset":   func(key string, ref limit.Ref) error { return h.Reset(h.Context(), key, ref) },
	} {
		for _, key := range badKeys {
			h.Run(what, func(t *testing.T) { wantField(t, call(key, demo), "key") })
		}
		h.Run(what, func(t *testing.T) {
			if err := call("user:42", nobody); !errors.Is(err, limit.ErrUnknownLimit) {
				t.Errorf("got %v, want %v", err, limit.ErrUnknownLimit)
			}
		})
	}
	for _, key := range badKeys {
		h.Run("return", func(t *testing.T) {
			_, err := h.Return(t.Context(), key, nil)
			wantField(t, err, "key")
		})
	}
}

// forgottenCost asks without a cost, as a caller that does not know of costs.
func forgottenCost(h *harness) {
	admitted := 0
	for range 100 {
		if h.check(limit.Request{Key: "user:42", Limits: []limit.Ref{limit.Named("odd")}}).Allowed {
			admitted++
		}
	}
	if capacity := h.rule("odd").Capacity; int64(admitted) != capacity {
		h.Errorf("%d of 100 were admitted by a limit of %d", admitted, capacity)
	}
}

func batchOrder(h *harness) {
	var rs []limit.Request
	for i := range 60 {
		rs = append(rs, request("user:"+strconv.Itoa(i%5), 1, []string{"demo", "odd", "slow"}[i%3]))
	}
	want := NewModel(h.doc, h.now.Load).CheckBatch(h.Context(), rs)
	got := h.CheckBatch(h.Context(), rs)
	if len(got) != len(rs) {
		h.Fatalf("%d answers to %d requests", len(got), len(rs))
	}
	for i := range got {
		if got[i].Err != nil || got[i].Decision.Allowed != want[i].Decision.Allowed ||
			got[i].Decision.Limits[0] != want[i].Decision.Limits[0] {
			h.Errorf("request %d: got %+v, want %+v", i, got[i], want[i])
		}
	}
}

func batchErrors(h *harness) {
	got := h.CheckBatch(h.Context(), []limit.Request{
		request("user:42", 4, "demo"),
		request("", 1, "demo"),
		request("user:42", 1, "nobody"),
		request("user:\xff", 1, "demo"),
		request("user:42", 7, "demo"),
		request("user:42", 6, "demo"),
	})
	if len(got) != 6 {
		h.Fatalf("%d answers to 6 requests", len(got))
	}
	wantField(h.T, got[1].Err, "key")
	wantField(h.T, got[3].Err, "key")
	if !errors.Is(got[2].Err, limit.ErrUnknownLimit) {
		h.Errorf("got %v, want %v", got[2].Err, limit.ErrUnknownLimit)
	}
	for i, want := range map[int]bool{0: true, 4: false, 5: true} {
		if got[i].Err != nil || got[i].Decision.Allowed != want {
			h.Errorf("request %d: got %+v, want allowed = %v", i, got[i], want)
		}
	}
}

func batchBound(h *harness) {
	rs := make([]limit.Request, limit.MaxBatch+1)
	for i := range rs {
		rs[i] = request("user:42", 1, "slow")
	}
	got := h.CheckBatch(h.Context(), rs)
	if len(got) != len(rs) {
		h.Fatalf("%d answers to %d requests", len(got), len(rs))
	}
	for i := range got {
		if _, ok := errors.AsType[*limit.FieldError](got[i].Err); !ok {
			h.Fatalf("request %d of %d: got %+v, want a field error", i, len(rs), got[i])
		}
	}
	for i, r := range h.CheckBatch(h.Context(), rs[1:]) {
		if r.Err != nil || !r.Decision.Allowed {
			h.Fatalf("request %d of %d: got %+v", i, limit.MaxBatch, r)
		}
	}
	if got := h.CheckBatch(h.Context(), nil); len(got) != 0 {
		h.Errorf("%d answers to no request", len(got))
	}
}
