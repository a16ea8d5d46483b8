package conformance

import (
	"reflect"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// tooFar says whether a length of line, made of spans whose ends are each rounded down, is not that of cost.
func tooFar(rule *limit.Rule, cost, length int64, spans int) bool {
	exact := rule.Length(cost).NS
	return length < exact-int64(spans) || length > exact+int64(spans)
}

// length is the line that a receipt consumed, and in how many spans.
func length(r limit.Receipt) (sum int64, spans int) {
	sum = r.End - r.Start
	for _, s := range r.Reuses {
		sum += s.End - s.Start
	}
	return sum, 1 + len(r.Reuses)
}

func receipts(h *harness) {
	names := []string{"odd", "fast"}
	seen := map[string][]limit.Receipt{}
	for i := range 40 {
		h.advance(time.Duration(i%7) * 700 * time.Millisecond)
		r := request("user:42", int64(1+i%3), names...)
		r.Receipt = true
		d := h.check(r)
		if !d.Allowed {
			if len(d.Receipts) > 0 {
				h.Fatalf("a denial has receipts: %+v", d)
			}
			continue
		}
		if len(d.Receipts) != len(names) {
			h.Fatalf("%d receipts for %d limits", len(d.Receipts), len(names))
		}
		for j, receipt := range d.Receipts {
			sum, spans := length(receipt)
			if receipt.Limit != names[j] || receipt.Owner == (limit.OwnerID{}) || tooFar(h.rule(names[j]), r.Tokens(), sum, spans) {
				h.Errorf("cost %d of %s: receipt %+v", r.Tokens(), names[j], receipt)
			}
			if now := h.now.Load(); receipt.Start < now || receipt.End > now+h.rule(names[j]).Reach() {
				h.Errorf("at %d the span %v of %s was spent", now, receipt.Span, names[j])
			}
			seen[names[j]] = append(seen[names[j]], receipt)
		}
	}
	for name, all := range seen {
		slices.SortFunc(all, func(a, b limit.Receipt) int { return int(a.Start - b.Start) })
		for i := range all[1:] {
			if all[i].End > all[i+1].Start || all[i].Serial == all[i+1].Serial && all[i].Span == all[i+1].Span || all[i].Generation != all[i+1].Generation {
				h.Errorf("receipts of %s are not apart: %+v and %+v", name, all[i], all[i+1])
			}
		}
	}
	if len(seen["odd"]) < 5 {
		h.Errorf("only %d checks were allowed", len(seen["odd"]))
	}
	if d := h.check(request("user:43", 1, names...)); len(d.Receipts) > 0 {
		h.Errorf("receipts that the check did not ask for: %+v", d)
	}
}

func returns(h *harness) {
	r := request("user:42", 4, "demo")
	r.Receipt = true
	first := h.check(r).Receipts[0]
	second := h.check(r).Receipts[0]
	giveBack := func(key string, want bool, receipt limit.Receipt) {
		h.Helper()
		got, err := h.Return(h.Context(), key, []limit.Receipt{receipt})
		if err != nil || !slices.Equal(got, []bool{want}) {
			h.Errorf("returned %+v: got %v and %v, want [%v]", receipt, got, err, want)
		}
	}
	foreign, unknown := first, first
	foreign.Owner[0]++
	unknown.Limit = "nobody"
	giveBack("user:42", false, foreign)
	giveBack("user:42", false, unknown)
	giveBack("user:43", false, first)
	if got := h.remaining("user:42", "demo"); got != 2 {
		h.Fatalf("%d of 10 remain, want 2", got)
	}
	giveBack("user:42", true, first)
	giveBack("user:42", false, first)
	if got := h.remaining("user:42", "demo"); got != 6 {
		h.Errorf("%d of 10 remain after a return of 4, want 6", got)
	}
	again := h.check(request("user:42", 7, "demo"))
	if again.Allowed {
		h.Errorf("7 were admitted where 6 remain: %+v", again)
	}
	r.Cost = 6
	spent := h.check(r)
	if !spent.Allowed {
		h.Fatalf("6 were denied where 6 remain: %+v", spent)
	}
	sum, spans := length(spent.Receipts[0])
	if len(spent.Receipts[0].Reuses) == 0 || tooFar(h.rule("demo"), 6, sum, spans) {
		h.Errorf("the receipt does not show the reuse: %+v", spent.Receipts[0])
	}
	h.advance(2 * time.Hour)
	giveBack("user:42", false, second)
	if got := h.remaining("user:42", "demo"); got != 10 {
		h.Errorf("%d of 10 remain in a full bucket", got)
	}
	if got, err := h.Return(h.Context(), "user:42", nil); err != nil || len(got) > 0 {
		h.Errorf("returned nothing: got %v and %v", got, err)
	}
}

func lateReturn(h *harness) {
	const perToken = 6 * time.Minute // 10/1h
	r := request("user:42", 4, "demo")
	r.Receipt = true
	receipt := h.check(r).Receipts[0]
	h.advance(3 * perToken)
	if got, err := h.Return(h.Context(), "user:42", []limit.Receipt{receipt}); err != nil || !slices.Equal(got, []bool{true}) {
		h.Fatalf("got %v and %v, want [true]", got, err)
	}
	if got := h.drain("user:42", "demo"); got != 10 {
		h.Errorf("the bucket of 10 admitted %d", got)
	}
}

func inspection(h *harness) {
	const perToken = 6 * time.Minute // 10/1h
	look := func() limit.Inspection {
		h.Helper()
		in, err := h.Inspect(h.Context(), "user/42", limit.Named("demo"), "")
		if err != nil {
			h.Fatal(err)
		}
		if in.Key != "user/42" || !reflect.DeepEqual(in.Rule, h.rule("demo")) || in.Now != h.now.Load() {
			h.Fatalf("got %+v, want the bucket demo of user/42 at %d", in, h.now.Load())
		}
		return in
	}
	if in := look(); in.Tokens != 10 || in.TAT > in.Now {
		h.Errorf("a bucket that was never used: %+v", in)
	}
	h.check(request("user/42", 3, "demo"))
	spent := look()
	if want := spent.Now + int64(3*perToken); spent.Tokens != 7 || spent.TAT != want {
		h.Errorf("got %d tokens, TAT %d; want 7 and %d", spent.Tokens, spent.TAT, want)
	}
	if again := look(); !reflect.DeepEqual(again, spent) {
		h.Errorf("looking changed\n%+v to\n%+v", spent, again)
	}
	if got := h.remaining("user/42", "demo"); got != 7 {
		h.Errorf("%d of 10 remain after looking, want 7", got)
	}
	h.advance(perToken)
	if in := look(); in.Tokens != 8 {
		h.Errorf("%d tokens after the time of one, want 8", in.Tokens)
	}
}

func reset(h *harness) {
	r := request("user:42", 10, "demo")
	r.Receipt = true
	old := h.check(r).Receipts
	h.check(request("user:42", 7, "odd"))
	before, err := h.Inspect(h.Context(), "user:42", limit.Named("demo"), "")
	if err != nil {
		h.Fatal(err)
	}
	if err := h.Reset(h.Context(), "user:42", limit.Named("demo")); err != nil {
		h.Fatal(err)
	}
	if got, err := h.Return(h.Context(), "user:42", old); err != nil || !slices.Equal(got, []bool{false}) {
		h.Errorf("returned what was spent before the reset: got %v and %v, want [false]", got, err)
	}
	if got := h.remaining("user:42", "demo"); got != 10 {
		h.Errorf("%d of 10 remain after a reset", got)
	}
	if got := h.remaining("user:42", "odd"); got != 0 {
		h.Errorf("the reset of one bucket left %d in another", got)
	}
	after, err := h.Inspect(h.Context(), "user:42", limit.Named("demo"), "")
	if err != nil {
		h.Fatal(err)
	}
	if after.Generation <= before.Generation {
		h.Errorf("the reset took generation %d to %d", before.Generation, after.Generation)
	}
	d := h.check(r)
	if !d.Allowed || d.Receipts[0].Generation != after.Generation {
		h.Errorf("after the reset to generation %d: %+v", after.Generation, d)
	}
}
