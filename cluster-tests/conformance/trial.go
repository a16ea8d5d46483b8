package conformance

import (
	"sync/atomic"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Over is a Limiter behind a network, which asks again what is not answered soon, and counts that by again. What it asks twice may be
// charged twice, unless it has an id.
func Over(l limit.Limiter, again func() uint64) limit.Limiter { return over{l, again} }

type over struct {
	limit.Limiter
	again func() uint64
}

// A trial is a test of a part of the suite. What is wrong after something was asked again, on a machine that stood still, is only said,
// and makes the trial void: the part is tried once more.
type trial struct {
	*testing.T
	again func() uint64 // nil if the Limiter under test is behind no network
	from  uint64
	void  atomic.Bool
}

// judge begins to count what l asks again.
func (t *trial) judge(l limit.Limiter) {
	if o, ok := l.(over); ok {
		t.again, t.from = o.again, o.again()
	}
}

// excused makes the trial void if something was asked again.
func (t *trial) excused() bool {
	if t.again == nil || t.again() == t.from {
		return false
	}
	t.void.Store(true)
	return true
}

// Errorf is that of the test, or void.
func (t *trial) Errorf(format string, args ...any) {
	t.Helper()
	if t.excused() {
		t.Logf("asked again: "+format, args...)
		return
	}
	t.T.Errorf(format, args...)
}

// Error is that of the test, or void.
func (t *trial) Error(args ...any) {
	t.Helper()
	if t.excused() {
		t.Log(append([]any{"asked again:"}, args...)...)
		return
	}
	t.T.Error(args...)
}

// Fatalf is that of the test, or void.
func (t *trial) Fatalf(format string, args ...any) {
	t.Helper()
	if t.excused() {
		t.Skipf("asked again: "+format, args...)
	}
	t.T.Fatalf(format, args...)
}

// Fatal is that of the test, or void.
func (t *trial) Fatal(args ...any) {
	t.Helper()
	if t.excused() {
		t.Skip(append([]any{"asked again:"}, args...)...)
	}
	t.T.Fatal(args...)
}
