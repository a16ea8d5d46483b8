package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a latency histogram can tell: values from 100 ns to 10 minutes, to three digits. Longer ones count as 10 minutes.
const (
	shortest = int64(100)
	longest  = int64(10 * time.Minute)
	digits   = 3
)

// A tally counts what became of the calls of one caller.
type tally struct {
	calls, allowed, denied int64

	faults    map[string]*Fault
	latencies *hdrhistogram.Histogram

	late     int64 // calls that began late, because no caller was free
	latest   time.Duration
	unmade   int64 // calls that were to begin and did not, because no caller was free until the end
	answered time.Time
}

func newTally() *tally {
	return &tally{faults: map[string]*Fault{}, latencies: hdrhistogram.New(shortest, longest, digits)}
}

// reset forgets everything: the warm-up is over.
func (t *tally) reset() {
	t.latencies.Reset()
	*t = tally{faults: map[string]*Fault{}, latencies: t.latencies}
}

// decided counts the answer to one check.
func (t *tally) decided(allowed bool) {
	if allowed {
		t.allowed++
	} else {
		t.denied++
	}
}

// failed counts checks that ended with an error.
func (t *tally) failed(code, message string, checks int64) {
	f := t.faults[code]
	if f == nil {
		f = &Fault{Code: code, First: message}
		t.faults[code] = f
	}
	f.Checks += checks
}

// failedCall counts a call that ended with an error, unless the load was interrupted, which is no error: then it says
// false.
func (t *tally) failedCall(ctx context.Context, err error, checks int) bool {
	if ctx.Err() != nil {
		if !errors.Is(context.Cause(ctx), errUnanswered) {
			return false
		}
		err = status.Error(codes.DeadlineExceeded, errUnanswered.Error())
	}
	s := status.Convert(err)
	t.failed(s.Code().String(), s.Message(), int64(checks))
	return true
}

// failedCheck counts an error within a batch.
func (t *tally) failedCheck(code int32, message string) {
	t.failed(codes.Code(uint32(code)).String(), message, 1)
}

// call records that a call was answered.
func (t *tally) call(took time.Duration, at time.Time) {
	t.calls++
	t.answered = at
	t.latencies.RecordValue(min(int64(took), longest)) //nolint:errcheck // it is in range
}

// add merges another caller's tally into t.
func (t *tally) add(o *tally) {
	t.calls += o.calls
	t.allowed += o.allowed
	t.denied += o.denied
	t.late += o.late
	t.latest = max(t.latest, o.latest)
	t.unmade += o.unmade
	t.latencies.Merge(o.latencies)
	for code, f := range o.faults {
		t.failed(code, f.First, f.Checks)
	}
	if o.answered.After(t.answered) {
		t.answered = o.answered
	}
}

// A Fault is how often checks ended with one kind of error.
type Fault struct {
	Code   string `json:"code"`   // of gRPC, or "Redis"
	Checks int64  `json:"checks"` // how many ended so
	First  string `json:"first"`  // the first message of that kind
}

// sortedFaults lists the most frequent ones first.
func (t *tally) sortedFaults() []Fault {
	faults := make([]Fault, 0, len(t.faults))
	for _, f := range t.faults {
		faults = append(faults, *f)
	}
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(b.Checks, a.Checks), cmp.Compare(a.Code, b.Code))
	})
	return faults
}

// Percentiles are latencies of calls, in nanoseconds.
type Percentiles struct {
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
	P999 time.Duration `json:"p99.9"`
	Max  time.Duration `json:"max"`
}

func percentiles(h *hdrhistogram.Histogram) Percentiles {
	if h.TotalCount() == 0 {
		return Percentiles{}
	}
	at := func(p float64) time.Duration { return time.Duration(h.ValueAtPercentile(p)) }
	return Percentiles{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: time.Duration(h.Max())}
}

// errUnanswered cuts off the calls that have not been answered long after the end of the load.
var errUnanswered = fmt.Errorf("not answered within %v of the end of the load", patience)
