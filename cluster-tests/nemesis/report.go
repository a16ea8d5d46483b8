package nemesis

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// A Report says what was done in a run, and what came of it.
type Report struct {
	Config

	Planned []Entry
	Played  []*Played
	Left    int               // entries that were not begun in time
	Absent  map[string]string // kinds that cannot be played here, and why
	Lasted  time.Duration     // of the load

	Asked    int      // keys that were probed in the end
	Stuck    []string // those that do not serve
	Looked   int      // how often a node was asked what is held of a bucket in the end
	Held     []string // where something was
	Problems []string // what else must not be
	Verdicts []history.Result

	total              tally
	byThrough, byLimit map[string]*tally
	reasons            map[string]int64
	ledger             *ledger
	edgeWork           *edgeWork
	stalls             int
	longestStall       time.Duration
	outages            []outage
	epsilon            int64
	size               int64 // of the history, in bytes
	judged             time.Duration
}

func newReport(cfg Config, entries []Entry) *Report {
	_, absent, err := cfg.kinds()
	if err != nil {
		absent = nil // Draw has failed before
	}
	return &Report{Config: cfg, Planned: entries, Absent: absent}
}

// How far a node's clock may be from the callers', in nanoseconds: of processes on one machine; and where clocks are put
// wrong, as far as the protocol tolerates.
const (
	oneMachine = int64(5 * time.Millisecond)
	tolerated  = int64(250*time.Millisecond) + oneMachine
)

// judge reads the history and the logs, and lets all checkers judge.
func (r *Report) judge(s *Stage, file string) error {
	began := time.Now()
	r.ledger, r.edgeWork = s.traffic.ledger, &s.edgeWork
	r.stalls, r.longestStall = s.traffic.stalls, s.traffic.longestStall
	r.total, r.byThrough, r.reasons = r.ledger.sums(func(k tallyKey) string { return k.through })
	_, r.byLimit, _ = r.ledger.sums(func(k tallyKey) string { return k.limit })
	r.outages = r.attribute(s.began)
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	if info, err := f.Stat(); err == nil {
		r.size = info.Size()
	}
	h, err := history.Read(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	r.epsilon = oneMachine
	for _, p := range r.Played {
		switch p.Fault.(type) {
		case wrongClock, gatewayClock:
			r.epsilon = tolerated
		}
	}
	if r.Verdicts, err = history.Run(h, r.epsilon); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	findings, err := readLogs(r.Folder, r.Played)
	if err != nil {
		return err
	}
	r.Problems = append(s.noticed(), findings...)
	r.judged = time.Since(began)
	return nil
}

// Err is what is wrong, or nil.
func (r *Report) Err() error {
	var all []error
	for i := range r.Verdicts {
		all = append(all, r.Verdicts[i].Err())
	}
	if len(r.Stuck) > 0 {
		all = append(all, fmt.Errorf("%d of %d keys are stuck after healing, such as %s", len(r.Stuck), r.Asked, r.Stuck[0]))
	}
	if len(r.Held) > 0 {
		all = append(all, fmt.Errorf("%d times of %d something is held when the time of all holds is over, such as %s", len(r.Held), r.Looked, r.Held[0]))
	}
	for _, p := range r.Problems {
		all = append(all, errors.New(p))
	}
	if r.total.Admitted == 0 {
		all = append(all, errors.New("no check was admitted: the run proves nothing"))
	}
	if r.Gateways > 0 && r.edgeWork.here() == 0 {
		all = append(all, errors.New("no check was decided at a gateway: the run proves nothing of leases"))
	}
	return errors.Join(all...)
}

// An outage is how a fault showed to callers: the failed checks that began while it lasted, or shortly after, and before the
// next one of its lane.
type outage struct {
	*Played

	failed int
	// until is how long after the fault began, or, of one that leaves no quorum, after it was undone, the last of them began.
	until time.Duration
}

// aftermath is how long after a fault a failure is still put down to it.
const aftermath = 10 * time.Second

// attribute puts the failed checks down to faults: each to the one that began last before it, if that was not long over.
func (r *Report) attribute(began time.Time) []outage {
	outages := make([]outage, len(r.Played))
	for i, p := range r.Played {
		outages[i].Played = p
	}
	slices.SortStableFunc(outages, func(a, b outage) int { return cmp.Compare(a.Began, b.Began) })
	for _, f := range r.ledger.failures {
		at := f.at.Sub(began)
		var to *outage
		for i := range outages {
			o := &outages[i]
			// A check that began shortly before a fault was under way when it struck.
			if o.Began > at+deadline {
				break
			}
			if o.Kind.Gateways && f.through != throughGateway {
				continue
			}
			if at <= o.Ended+aftermath && (to == nil || !o.Kind.Operators || to.Ended+aftermath < at) {
				to = o
			}
		}
		if to == nil {
			continue
		}
		to.failed++
		since := to.Began
		if to.Kind.Majority {
			since = to.Healing
		}
		to.until = max(to.until, at-since)
	}
	return outages
}

// row is one kind of faults in the report.
type row struct {
	kind    string
	times   int
	lasted  time.Duration
	failed  int
	slowest time.Duration // outage
	back    time.Duration // the longest that it took until everything was back
}

// rows are the kinds of faults that were played.
func (r *Report) rows() []row {
	byKind := map[string]*row{}
	for _, o := range r.outages {
		k := byKind[o.Kind.Name]
		if k == nil {
			k = &row{kind: o.Kind.Name}
			byKind[o.Kind.Name] = k
		}
		k.times++
		k.lasted += o.Healing - o.Began
		k.failed += o.failed
		k.slowest = max(k.slowest, o.until)
		k.back = max(k.back, o.Ended-o.Healing)
	}
	var rows []row
	for _, k := range Kinds() {
		if found := byKind[k.Name]; found != nil {
			rows = append(rows, *found)
		}
	}
	return rows
}

// unexplained are the failed checks that no fault explains.
func (r *Report) unexplained() int {
	n := len(r.ledger.failures)
	for _, o := range r.outages {
		n -= o.failed
	}
	return n
}

// sorted are the keys of a map.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// verdict is what one checker says, in a line.
func verdict(v *history.Result) string {
	text := fmt.Sprintf("%d %s checked, %d violations", v.Checked, v.Things, v.Found)
	if v.Unknown > 0 {
		text += fmt.Sprintf(", %d could not be judged", v.Unknown)
	}
	if v.Note != "" {
		text += "; " + v.Note
	}
	return text
}

// outcome is the verdict of the run in a word.
func (r *Report) outcome() string {
	if r.Err() != nil {
		return "FAILED"
	}
	return "held"
}
