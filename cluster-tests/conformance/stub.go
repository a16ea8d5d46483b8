package conformance

import (
	"context"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Stub is a Limiter of functions; one that is missing allows everything.
type Stub struct {
	OnCheck   func(context.Context, limit.Request) (limit.Decision, error)
	OnBatch   func(context.Context, []limit.Request) []limit.Result
	OnAll     func(context.Context, []limit.Request) (limit.AllDecision, error)
	OnReturn  func(context.Context, string, []limit.Receipt) ([]bool, error)
	OnSettle  func(context.Context, limit.Settlement) (limit.Settled, error)
	OnInspect func(context.Context, string, limit.Ref, string) (limit.Inspection, error)
	OnReset   func(context.Context, string, limit.Ref) error
}

// Check implements [limit.Limiter].
func (s Stub) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if s.OnCheck == nil {
		return limit.Decision{Allowed: true}, nil
	}
	return s.OnCheck(ctx, r)
}

// CheckBatch implements [limit.Limiter].
func (s Stub) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	if s.OnBatch != nil {
		return s.OnBatch(ctx, rs)
	}
	results := make([]limit.Result, len(rs))
	for i, r := range rs {
		results[i].Decision, results[i].Err = s.Check(ctx, r)
	}
	return results
}

// CheckAll implements [limit.Limiter].
func (s Stub) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	if s.OnAll == nil {
		return limit.AllDecision{Allowed: true}, nil
	}
	return s.OnAll(ctx, rs)
}

// Return implements [limit.Limiter].
func (s Stub) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if s.OnReturn == nil {
		return make([]bool, len(receipts)), nil
	}
	return s.OnReturn(ctx, key, receipts)
}

// Settle implements [limit.Limiter]. Without a function, no hold is known.
func (s Stub) Settle(ctx context.Context, settlement limit.Settlement) (limit.Settled, error) {
	if s.OnSettle == nil {
		return limit.Settled{}, limit.ErrUnknownHold
	}
	return s.OnSettle(ctx, settlement)
}

// Inspect implements [limit.Limiter].
func (s Stub) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	if s.OnInspect == nil {
		return limit.Inspection{Key: key}, nil
	}
	return s.OnInspect(ctx, key, ref, plan)
}

// Reset implements [limit.Limiter].
func (s Stub) Reset(ctx context.Context, key string, ref limit.Ref) error {
	if s.OnReset == nil {
		return nil
	}
	return s.OnReset(ctx, key, ref)
}
