package nemesis

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
)

// A ledger writes down what came of every call, and counts it.
type ledger struct {
	out *history.Writer

	mu        sync.Mutex
	err       error // the first one of writing
	tally     map[tallyKey]int64
	latency   latencies
	afterKill latencies
	marks     []time.Time // when nodes were killed, the recent ones
	failures  []failure
	returns   map[history.Outcome]int64
	resets    map[history.Outcome]int64
	extends   map[history.Outcome]int64
	holds     *holdCounts
	excess    *excess
}

// A tallyKey is what checks are counted by.
type tallyKey struct {
	limit, through string // limit is the first one of those that were asked for together
	outcome        history.Outcome
	reason         string
}

// A failure is a check that was not decided.
type failure struct {
	at              time.Time // when it began
	reason, through string
}

func newLedger(out *history.Writer) *ledger {
	return &ledger{
		out: out, tally: map[tallyKey]int64{}, holds: newHoldCounts(), excess: &excess{},
		returns: map[history.Outcome]int64{}, resets: map[history.Outcome]int64{}, extends: map[history.Outcome]int64{},
	}
}

// markLasts is how long after a mark latencies are kept by themselves.
const markLasts = time.Second

// mark begins a second whose latencies are kept by themselves.
func (l *ledger) mark(at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marks = slices.DeleteFunc(l.marks, func(m time.Time) bool { return at.Sub(m) > time.Minute })
	l.marks = append(l.marks, at)
}

// addressed is the part of an error that says which node it is from.
var addressed = regexp.MustCompile(`node at [0-9.:]+: `)

// reason sorts an error.
func reason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "deadline"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, limit.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, limit.ErrOverloaded):
		return "overloaded"
	}
	if _, ok := errors.AsType[*url.Error](err); ok {
		return "connection" // over HTTP
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return "connection" // at a door
	}
	text := addressed.ReplaceAllString(err.Error(), "a node: ")
	return "other: " + text[:min(len(text), 100)]
}

// check writes down a check, and counts it.
func (l *ledger) check(c *caller, r *limit.Request, began time.Time, took time.Duration, d limit.Decision, err error) {
	l.probed(c, r, began, took, d, err)
	l.counts(c, r, began, took, d, err)
}

// counts counts a check.
func (l *ledger) counts(c *caller, r *limit.Request, began time.Time, took time.Duration, d limit.Decision, err error) {
	outcome, why := history.Denied, reason(err)
	switch {
	case err != nil:
		outcome = history.Failed
	case d.Allowed:
		outcome = history.Admitted
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tally[tallyKey{r.Limits[0].Name, c.through, outcome, why}]++
	l.latency.add(took)
	for _, m := range l.marks {
		if since := began.Sub(m); since >= 0 && since < markLasts {
			l.afterKill.add(took)
			break
		}
	}
	if err != nil {
		l.failures = append(l.failures, failure{at: began, reason: why, through: c.through})
	}
}

// probed writes down a check that is not counted: a line for each of its limits that decided it.
func (l *ledger) probed(c *caller, r *limit.Request, began time.Time, took time.Duration, d limit.Decision, err error) {
	why := reason(err)
	for i, ref := range r.Limits {
		if l.excess.of(ref.Name) {
			if err == nil && d.Allowed {
				l.excess.admits(r.Key, admission{ref.Name, r.Tokens(), began, began.Add(took)})
			}
			continue
		}
		call := history.Call{
			Kind: history.KindCheck, Limit: ref.Name, Key: r.Key, Cost: r.Tokens(), Start: began.UnixNano(),
			End: began.UnixNano() + int64(took), Via: c.name, Error: why,
		}
		switch {
		case err != nil:
			call.Outcome = history.Failed
		case d.Allowed:
			call.Outcome, call.Wait = history.Admitted, int64(d.Wait)
			if i < len(d.Receipts) {
				call.Receipt = load.Receipt(d.Receipts[i])
			}
		case d.Limits[i].Allowed:
			continue // another limit has denied it: this one says nothing
		default:
			call.Outcome = history.Denied
		}
		l.write(call)
	}
}

// held writes down what came of asking for a hold, and counts it as a check.
func (l *ledger) held(c *caller, r *limit.Request, began time.Time, took time.Duration, d limit.Decision, err error) {
	l.counts(c, r, began, took, d, err)
	call := history.Call{
		Kind: history.KindHold, Key: r.Key, Cost: r.Cost, Start: began.UnixNano(), End: began.UnixNano() + int64(took), Via: c.name, Error: reason(err),
	}
	for i, ref := range r.Limits {
		call.Limit = ref.Name
		switch {
		case err != nil:
			call.Outcome = history.Failed
		case d.Allowed:
			call.Outcome, call.Cost = history.Admitted, d.Hold.Granted
			call.Hold = &history.Hold{ID: load.HoldID(d.Hold.Limits[i]), For: r.Hold.Nanoseconds()}
		case d.Limits[i].Allowed:
			continue // another limit has denied it: this one says nothing
		default:
			call.Outcome = history.Denied
		}
		l.write(call)
	}
}

// settled writes down what came of a settlement. Of one of a hold that no limit knows any more, each answers that.
func (l *ledger) settled(c *caller, one *limit.Settlement, began time.Time, took time.Duration, settled limit.Settled, err error) {
	for i, h := range one.Hold.Limits {
		call := history.Call{
			Kind: history.KindSettle, Outcome: history.Failed, Limit: h.Limit, Key: one.Hold.Key, Cost: one.Used, Start: began.UnixNano(),
			End: began.UnixNano() + int64(took), Via: c.name, Error: reason(err),
			Hold: &history.Hold{ID: load.HoldID(h), Open: one.Open, For: one.For.Nanoseconds()},
		}
		switch {
		case errors.Is(err, limit.ErrUnknownHold):
			call.Outcome, call.Hold.State, call.Error = history.Done, history.Unknown, ""
		case err == nil:
			call.Outcome, call.Hold.State, call.Hold.Charged = history.Done, string(settled.Limits[i].State), settled.Limits[i].Charged
		}
		l.write(call)
		if call.Outcome == history.Failed {
			l.holds.count("settlements failed")
		} else {
			l.holds.count(call.Hold.State)
		}
	}
}

// returned writes down what came of giving receipts back.
func (l *ledger) returned(c *caller, key string, receipts []limit.Receipt, began time.Time, took time.Duration, taken []bool, err error) {
	for i, r := range receipts {
		call := history.Call{
			Kind: history.KindReturn, Limit: r.Limit, Key: key, Start: began.UnixNano(), End: began.UnixNano() + int64(took),
			Outcome: history.Ignored, Receipt: load.Receipt(r), Via: c.name, Error: reason(err),
		}
		switch {
		case i < len(taken) && taken[i]:
			call.Outcome = history.Taken
		case err != nil || i >= len(taken):
			call.Outcome = history.Failed
		}
		l.write(call)
		l.mu.Lock()
		l.returns[call.Outcome]++
		l.mu.Unlock()
	}
}

// extended writes down what came of extending a permit.
func (l *ledger) extended(c *caller, key string, permit limit.Receipt, began time.Time, took time.Duration, d limit.Decision, err error) {
	call := history.Call{
		Kind: history.KindExtend, Limit: permit.Limit, Key: key, Start: began.UnixNano(), End: began.UnixNano() + int64(took),
		Outcome: history.Denied, Receipt: load.Receipt(permit), Via: c.name, Error: reason(err),
	}
	switch {
	case err != nil:
		call.Outcome = history.Failed
	case d.Allowed && len(d.Receipts) > 0:
		call.Outcome, call.Receipt = history.Admitted, load.Receipt(d.Receipts[0])
	}
	l.write(call)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.extends[call.Outcome]++
}

// reset writes down what came of a reset.
func (l *ledger) reset(name, key string, began time.Time, took time.Duration, err error) {
	call := history.Call{
		Kind: history.KindReset, Limit: name, Key: key, Start: began.UnixNano(), End: began.UnixNano() + int64(took),
		Outcome: history.Done, Via: "operator", Error: reason(err),
	}
	if err != nil {
		call.Outcome = history.Failed
	}
	l.write(call)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resets[call.Outcome]++
}

func (l *ledger) write(c history.Call) {
	if err := l.out.WriteCall(c); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err == nil {
			l.err = err
		}
	}
}

// A tally is how many checks had which outcome.
type tally struct {
	Admitted, Denied, Failed int64
}

func (t tally) all() int64 { return t.Admitted + t.Denied + t.Failed }

func (t *tally) add(o history.Outcome, n int64) {
	switch o {
	case history.Admitted:
		t.Admitted += n
	case history.Denied:
		t.Denied += n
	default:
		t.Failed += n
	}
}

// sums are the tallies so far: of everything, by what groups them, and of the failures by reason.
func (l *ledger) sums(group func(tallyKey) string) (total tally, groups map[string]*tally, reasons map[string]int64) {
	l.mu.Lock()
	counted := maps.Clone(l.tally)
	l.mu.Unlock()
	groups, reasons = map[string]*tally{}, map[string]int64{}
	for k, n := range counted {
		total.add(k.outcome, n)
		g := group(k)
		if groups[g] == nil {
			groups[g] = &tally{}
		}
		groups[g].add(k.outcome, n)
		if k.outcome == history.Failed {
			reasons[k.reason] += n
		}
	}
	return total, groups, reasons
}
