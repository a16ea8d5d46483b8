package bench

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// luaBuckets take the steps of gcraScript, in the numbers that Lua has, and may err.
type luaBuckets struct {
	tat map[string]float64
	err float64 // is added to every time per token
}

func (b *luaBuckets) step(_ context.Context, key string, args []any) ([]int64, error) {
	per, capacity, cost := float64(args[0].(int64))+b.err, float64(args[1].(int64)), float64(args[2].(int64))
	now := float64(args[4].(int64))
	tat := max(b.tat[key], now)
	full, after := now+capacity*per, tat+cost*per
	if after > full {
		return numbers(0, math.Floor((full-tat)/per), after-full, tat-now), nil
	}
	if cost > 0 {
		b.tat[key] = after
	}
	return numbers(1, math.Floor((full-after)/per), 0, after-now), nil
}

func numbers(values ...float64) []int64 {
	out := make([]int64, len(values))
	for i, v := range values {
		out[i] = int64(v)
	}
	return out
}

// The script's arithmetic is that of actor/limit, and a script whose arithmetic is not would be noticed. The script itself
// is held against actor/limit whenever Redis is measured.
func TestGCRAArithmetic(t *testing.T) {
	right := &luaBuckets{tat: map[string]float64{}}
	if err := checkGCRA(t.Context(), right.step, 50_000); err != nil {
		t.Error(err)
	}
	for _, wrong := range []float64{-0.5, 1} {
		b := &luaBuckets{tat: map[string]float64{}, err: wrong}
		if err := checkGCRA(t.Context(), b.step, gcraChecks); err == nil || !strings.Contains(err.Error(), "does not decide as jeton does") {
			t.Errorf("%g ns more for each token were not noticed: %v", wrong, err)
		}
	}
	down := errors.New("down")
	failing := func(context.Context, string, []any) ([]int64, error) { return nil, down }
	if err := checkGCRA(t.Context(), failing, 1); !errors.Is(err, down) {
		t.Errorf("a Redis that is down: %v", err)
	}
	short := func(context.Context, string, []any) ([]int64, error) { return []int64{1}, nil }
	if err := checkGCRA(t.Context(), short, 1); err == nil {
		t.Error("an answer of one number was not noticed")
	}
}

// What the script cannot keep exactly is refused.
func TestGCRAArgs(t *testing.T) {
	for _, tt := range []struct {
		capacity int64
		refill   limit.Refill
		want     string // in the error
	}{
		{10, limit.Refill{Tokens: 4, Per: time.Second}, ""},
		{10, limit.Refill{Tokens: 3, Per: time.Second}, "whole number of nanoseconds"},
		{1000, limit.Refill{Tokens: 1, Per: 24 * time.Hour}, "100 days"},
	} {
		rule, err := limit.Limit{Name: "x", Capacity: tt.capacity, Refill: tt.refill}.Rule()
		if err != nil {
			t.Fatal(err)
		}
		_, err = gcraArgs(rule, 1, time.Unix(1, 0))
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.refill, err)
		}
	}
}
