package bench

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// patience is how long after the end of a load its last calls may be answered.
const patience = 10 * time.Second

// lateBy is how long after its time a call begins that counts as late. Timers alone are off by less.
const lateBy = time.Millisecond

// A service is what is put under load.
type service struct {
	// caller makes the caller with that number. Each caller is used by one goroutine.
	caller func(number int) caller
	// cpu is the processor time that the service has used so far; nil if that cannot be known.
	cpu func() time.Duration
	// close ends what the callers share.
	close func() error
}

// A caller makes one call after another.
type caller interface {
	// call checks the keys in one call and counts the answers, or says false if it was interrupted. It keeps nothing of
	// keys.
	call(ctx context.Context, keys []string, t *tally) bool
}

// A run is one load on one service.
type run struct {
	load     Load
	service  service
	keys     *keySpace
	schedule schedule // nil in a closed loop

	begin, warm, end time.Time // warm is when the warm-up is over
}

// measure puts a load on a service and reports. When ctx ends, so does the load, and what was measured until then is
// reported as interrupted.
func measure(ctx context.Context, l Load, s service) (Report, error) {
	keys, err := newKeySpace(l)
	if err != nil {
		return Report{}, err
	}
	undo := thriftyGC()
	defer undo()
	r := &run{load: l, service: s, keys: keys}
	if l.Rate > 0 {
		r.schedule = newSchedule(l)
	}
	r.begin = time.Now()
	r.warm = r.begin.Add(l.Warmup)
	r.end = r.warm.Add(l.Duration)
	// Not a deadline: the callers' contexts have none, so none is sent to the service.
	calls, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(l.Warmup+l.Duration+patience, func() { cancel(errUnanswered) }).Stop()

	var workers sync.WaitGroup
	tallies := make([]*tally, l.Callers)
	for i := range tallies {
		tallies[i] = newTally()
		workers.Go(func() { r.work(calls, i, tallies[i]) })
	}
	pause(ctx, time.Until(r.warm))
	before := r.meter()
	workers.Wait()
	after := r.meter()

	all := newTally()
	for _, t := range tallies {
		all.add(t)
	}
	report := r.report(all)
	report.GeneratorCPU, report.ServiceCPU = after[0]-before[0], after[1]-before[1]
	report.Interrupted = ctx.Err() != nil
	return report, nil
}

// thriftyGC makes the collector of this process run less often, since it takes processor time from the service, unless
// GOGC says what is wanted. It returns what undoes that.
func thriftyGC() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(800)
	return func() { debug.SetGCPercent(before) }
}

// meter reads the processor times of this process and of the service.
func (r *run) meter() (cpu [2]time.Duration) {
	cpu[0] = ownCPU()
	if r.service.cpu != nil {
		cpu[1] = r.service.cpu()
	}
	return cpu
}

// work is one caller's goroutine.
func (r *run) work(ctx context.Context, number int, t *tally) {
	// A context of its own: calls register with it, and would otherwise contend for one lock.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := worker{
		run: r, tally: t, caller: r.service.caller(number), picker: r.keys.pickerOf(r.load.Seed, number),
		keys: make([]string, r.load.Batch), warming: true,
	}
	if r.schedule == nil {
		w.closed(ctx)
	} else {
		w.open(ctx)
	}
	if w.warming {
		t.reset()
	}
}

// A worker is one caller at work.
type worker struct {
	*run
	tally   *tally
	caller  caller
	picker  *picker
	keys    []string
	warming bool
}

// closed makes one call after the other, and at least one.
func (w *worker) closed(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		w.picker.pick(w.keys)
		start := time.Now()
		if !first && !start.Before(w.end) {
			return
		}
		w.warmed(start)
		w.call(ctx, start)
	}
}

// open makes each call when the schedule says so, or as soon after that as a caller is free.
func (w *worker) open(ctx context.Context) {
	timer := time.NewTimer(math.MaxInt64)
	defer timer.Stop()
	for ctx.Err() == nil {
		due := w.begin.Add(w.schedule.next())
		if !due.Before(w.end) {
			return
		}
		wait := time.Until(due)
		if wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		now := time.Now()
		w.warmed(now)
		if -wait > lateBy {
			w.tally.late++
			w.tally.latest = max(w.tally.latest, -wait)
		}
		if !now.Before(w.end) {
			w.tally.unmade++
			continue
		}
		w.picker.pick(w.keys)
		w.call(ctx, due)
	}
}

// call makes a call that counts from start.
func (w *worker) call(ctx context.Context, start time.Time) {
	if !w.caller.call(ctx, w.keys, w.tally) {
		return
	}
	at := time.Now()
	w.tally.call(at.Sub(start), at)
}

// warmed forgets what was counted in the warm-up when something begins after it. What was due in it and begins only now
// counts: it waits in front of what is due now.
func (w *worker) warmed(now time.Time) {
	if w.warming && !now.Before(w.warm) {
		w.tally.reset()
		w.warming = false
	}
}

// pause waits, or returns early with ctx.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
