package actor

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// TestSeveralLimits has many callers ask for random pairs of limits: what one limit denies is charged to none.
func TestSeveralLimits(t *testing.T) {
	doc := document(t, `
limits:
  small: {capacity: 50, refill: 1/h}
  large: {capacity: 120, refill: 1/h}
  whole: {capacity: 200, refill: 1/h}
`)
	s := start(t, Config{
		Replicas: []Replica{open(t, storage.Config{})},
		Limits:   fixed(doc),
	})
	var (
		wait  sync.WaitGroup
		spent [3]atomic.Int64
	)
	names := []string{"small", "large", "whole"}
	for i := range 24 {
		wait.Go(func() {
			for j := range 40 {
				skip := (i + j) % 3
				r := spend("a", 1)
				for k, name := range names {
					if k != skip {
						r.Limits = append(r.Limits, limit.Named(name))
					}
				}
				d, err := s.Check(t.Context(), r)
				if err != nil {
					t.Error(err)
					return
				}
				for k := range names {
					if d.Allowed && k != skip {
						spent[k].Add(1)
					}
				}
			}
		})
	}
	wait.Wait()
	for k, capacity := range []int64{50, 120, 200} {
		got := spent[k].Load()
		if left := drain(t, s, "a", names[k]); got+left != capacity {
			t.Errorf("%s: %d were admitted with others and %d remained, want %d in all", names[k], got, left, capacity)
		}
	}
	if spent[0].Load() != 50 {
		t.Errorf("the smallest admitted %d, want all of 50", spent[0].Load())
	}
}

func TestStoredNameInline(t *testing.T) {
	s := start(t, Config{})
	_, err := s.Check(t.Context(), inline("a", 1, "demo", 1000, "1/s"))
	if fe, ok := errors.AsType[*limit.FieldError](err); !ok || fe.Field != "limits.demo" {
		t.Errorf("got %v, want an error of the field limits.demo", err)
	}
	if got := remaining(t, s, "a", "demo"); got != 10 {
		t.Errorf("%d of 10 remain", got)
	}
}

// TestInlineChanged defines a limit anew: what is spent stays spent, as debt measured in time.
func TestInlineChanged(t *testing.T) {
	s := start(t, Config{})
	for range 6 {
		decide(t, s, inline("a", 1, "burst", 10, "1/h")) // 6 h of line
	}
	for _, step := range []struct {
		capacity int64
		refill   string
		want     int64
	}{
		{20, "1/h", 14},
		{6, "1/h", 0},
		{7, "1/h", 1},
		{12, "2/h", 0}, // 6 h are 12 tokens
		{13, "2/h", 1},
		{10, "1/h", 4},
	} {
		d := decide(t, s, inline("a", 0, "burst", step.capacity, step.refill))
		if got := d.Limits[0].Remaining; got != step.want {
			t.Errorf("capacity %d, refill %s: %d remain, want %d", step.capacity, step.refill, got, step.want)
		}
	}
	d := decide(t, s, inline("a", 1, "burst", 6, "1/h"))
	if d.Allowed {
		t.Errorf("admitted beyond the smaller capacity: %+v", d)
	}
	admitted := 0
	for decide(t, s, inline("a", 1, "burst", 10, "1/h")).Allowed {
		admitted++
	}
	if admitted != 4 {
		t.Errorf("%d were admitted, want the 4 that were left", admitted)
	}
}

// TestDocumentReplaced replaces the limits while they are in use.
func TestDocumentReplaced(t *testing.T) {
	var current atomic.Pointer[limit.Document]
	replace := func(capacity int64) {
		current.Store(document(t, fmt.Sprintf("limits: {x: {capacity: %d, refill: 1/h}}", capacity)))
	}
	replace(10)
	s := start(t, Config{Replicas: []Replica{open(t, storage.Config{})}, Limits: current.Load})
	if got := drain(t, s, "a", "x"); got != 10 {
		t.Fatalf("%d were admitted, want 10", got)
	}
	replace(15)
	if got := drain(t, s, "a", "x"); got != 5 {
		t.Errorf("%d more were admitted after the capacity grew by 5", got)
	}
	replace(3)
	d := decide(t, s, spend("a", 1, "x"))
	if d.Allowed || d.Limits[0].Limit != 3 || d.Limits[0].Remaining != 0 {
		t.Errorf("after the capacity shrank to 3: %+v", d)
	}
	if wait := d.Limits[0].RetryAfter; wait <= 12*time.Hour || wait > 13*time.Hour {
		t.Errorf("retry after %v, want 15 h of debt less 2 h", wait)
	}
	if d := decide(t, s, spend("a", 4, "x")); !d.Limits[0].Never {
		t.Errorf("a cost above the new capacity: %+v", d)
	}
	if got := drain(t, s, "b", "x"); got != 3 {
		t.Errorf("%d were admitted of a fresh bucket of 3", got)
	}
	current.Store(document(t, "limits: {y: {capacity: 1, refill: 1/h}}"))
	if _, err := s.Check(t.Context(), spend("a", 1, "x")); !errors.Is(err, limit.ErrUnknownLimit) {
		t.Errorf("a limit that is no more: %v", err)
	}
	replace(16)
	if got := drain(t, s, "a", "x"); got != 1 {
		t.Errorf("%d were admitted after the limit came back with 16, want 1", got)
	}
}

// TestDocumentReplacedUnderLoad replaces the limits back and forth under load: never more is admitted than the larger
// one allows. Line that is reserved further ahead than the smaller one reaches is given up each time, so fewer than that allows
// may be admitted when the machine is busy.
func TestDocumentReplacedUnderLoad(t *testing.T) {
	docs := []*limit.Document{
		document(t, "limits: {x: {capacity: 300, refill: 1/h}}"),
		document(t, "limits: {x: {capacity: 500, refill: 7/6h}}"), // 7/6 of a token: positions divide otherwise
	}
	var turn, admitted atomic.Int64
	s := start(t, Config{
		Replicas: []Replica{open(t, storage.Config{})},
		Limits:   func() *limit.Document { return docs[turn.Add(1)/50%2] },
	})
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for range 200 {
				admitted.Add(spendAll(t, s, spend("a", 1, "x"), 1))
			}
		})
	}
	wait.Wait()
	if got := admitted.Load(); got < 150 || got > 500 {
		t.Errorf("%d were admitted by limits of 300 and 500", got)
	}
}

// TestWaitingAcrossReplacement replaces the limits while a check waits for its reservation.
func TestWaitingAcrossReplacement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var current atomic.Pointer[limit.Document]
		current.Store(document(t, "limits: {x: {capacity: 10, refill: 1/h}}"))
		g, now := shutFor("a")
		s := start(t, Config{Replicas: []Replica{g}, Now: now, Limits: current.Load})
		first := ask(t.Context(), s, spend("a", 4, "x"))
		synctest.Wait()
		current.Store(document(t, "limits: {x: {capacity: 5, refill: 1/h}}"))
		second := ask(t.Context(), s, spend("a", 2, "x"))
		pending(t, first)
		g.open()
		if a := settled(t, first); a.err != nil || !a.Allowed {
			t.Errorf("the check under the old limit: %+v", a)
		}
		if a := settled(t, second); a.err != nil || a.Allowed || a.Limits[0].Limit != 5 {
			t.Errorf("the check under the new limit, of which 1 of 5 remains: %+v", a)
		}
		if got := drain(t, s, "a", "x"); got != 1 {
			t.Errorf("%d were admitted after all that, want 1", got)
		}
	})
}

func TestUnknownLimit(t *testing.T) {
	s := start(t, Config{})
	_, err := s.Check(t.Context(), spend("a", 1, "demo", "nobody"))
	if !errors.Is(err, limit.ErrUnknownLimit) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v, want an unknown limit and its name", err)
	}
	if o := overview(t, s); o.Awake != 0 {
		t.Errorf("a request that was refused woke %d actors", o.Awake)
	}
}
