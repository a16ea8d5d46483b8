package actor

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/storage/register"
)

// inlineLabel stands for all limits that requests define themselves: their names are the callers' and have no bound. No
// stored limit can bear this name.
const inlineLabel = "(inline)"

// What a limit said to a check, as a metric's label.
const (
	allowed = iota
	denied
	spared // it would have allowed the check, but another limit denied it: nothing was charged
	outcomes
)

var outcomeLabels = [outcomes]string{"allowed", "denied", "spared"}

// What became of a settlement, as a metric's label.
const (
	settledInTime = iota
	settledLate   // after the hold had expired
	leftOpen      // more may be used
	settledLost   // the owner that took the hold is gone
	unknownToLimit
	settledAgain // it was settled for good before
	settlements
)

var settlementLabels = [settlements]string{"settled", "late", "open", "lost", "unknown", "repeated"}

// What a settlement for good counts tokens as, as a metric's label.
const (
	tokensHeld = iota
	tokensCharged
	tokensBeyond
	settledTokens
)

var settledTokenLabels = [settledTokens]string{"held", "charged", "beyond"}

// refusalLabels are what stops reservations, as a metric's label.
var refusalLabels = [...]string{
	register.Taken: "taken", register.OldGeneration: "old_generation", register.WrongEpoch: "wrong_epoch",
	register.Sealed: "sealed", register.Skewed: "skewed", register.TooFar: "too_far", register.Full: "full",
}

type metrics struct {
	decisions    *prometheus.CounterVec
	latency      prometheus.Histogram
	reservations *prometheus.CounterVec
	refusals     *prometheus.CounterVec
	lost         *prometheus.CounterVec
	entered      prometheus.Counter
	rejected     prometheus.Counter
	panics       prometheus.Counter
	shed         [shedKinds]prometheus.Counter

	holds         *prometheus.CounterVec
	holdTokens    *prometheus.CounterVec
	expired       *prometheus.CounterVec
	settlements   *prometheus.CounterVec
	settledTokens *prometheus.CounterVec

	leases       *prometheus.CounterVec
	leasedTokens *prometheus.CounterVec
	reported     *prometheus.CounterVec

	used sync.Map // by a limit's name, when it decided last: an *atomic.Int64 on the node clock
}

func newMetrics(reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	m := &metrics{
		decisions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_decisions_total",
			Help: "What limits said to checks, by limit and outcome. Limits defined by requests count as one.",
		}, []string{"limit", "outcome"}),
		latency: f.NewHistogram(prometheus.HistogramOpts{
			Name:    "jeton_check_seconds",
			Help:    "Time from a check, or a batch of them, to its decision on this node.",
			Buckets: prometheus.ExponentialBuckets(5e-6, 2, 20),
		}),
		reservations: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_reservations_total",
			Help: "Reservations that owners have sent, by whether a check waited for them (needed) or not (ahead).",
		}, []string{"kind"}),
		refusals: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_reservation_refusals_total",
			Help: "Reservations that a replica has refused, by what stopped them.",
		}, []string{"verdict"}),
		lost: f.NewCounterVec(prometheus.CounterOpts{
			Name: "jeton_replica_lost_total",
			Help: "Messages with reservations that a replica could not be asked or will not answer, by the replica's node.",
		}, []string{"node"}),
		entered: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_epochs_entered_total",
			Help: "Awake keys that went on with another replica set.",
		}),
		rejected: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_mailbox_rejections_total",
			Help: "Checks that were answered with an error because a mailbox was full.",
		}),
		panics: f.NewCounter(prometheus.CounterOpts{
			Name: "jeton_actor_panics_total",
			Help: "Panics of actors: bugs of jeton. An actor that panics is forgotten.",
		}),
	}
	m.registerHolds(f)
	m.leases = f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_leases_total",
		Help: "Leases that edges have asked for, by limit and outcome: given; denied, because too little is left; cold, because only hot keys of the limit are leased.",
	}, []string{"limit", "outcome"})
	m.leasedTokens = f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_leased_tokens_total",
		Help: "Tokens of leases that were given to edges, by limit.",
	}, []string{"limit"})
	m.reported = f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_reported_tokens_total",
		Help: "Tokens that edges have reported as spent, of limits with consistency eventual.",
	}, []string{"limit"})
	shed := f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_shed_total",
		Help: "What was given up for want of memory: receipts, request_ids, idle_keys and keys that had held_line, awake or dormant, or holds that were forgotten early, checks of new_keys and of new_limits that were refused.",
	}, []string{"what"})
	for what, label := range shedLabels {
		m.shed[what] = shed.WithLabelValues(label)
	}
	return m
}

// registerHolds registers what is counted of holds.
func (m *metrics) registerHolds(f promauto.Factory) {
	m.holds = f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_holds_total",
		Help: "Holds that were taken, by limit.",
	}, []string{"limit"})
	m.holdTokens = f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_hold_tokens_total",
		Help: "Tokens that holds have taken, by limit: the estimates, as far as they were granted.",
	}, []string{"limit"})
	m.expired = f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_holds_expired_total",
		Help: "Holds that are known to have expired, by limit: they were settled later, or their limit spends a line, has on_expiry free, and was checked again. Others that are never settled are not counted.",
	}, []string{"limit"})
	m.settlements = f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_settlements_total",
		Help: "Settlements, by limit and outcome: settled for good in time, late, or lost with the node that took the hold; open; unknown; and repeated, after one for good.",
	}, []string{"limit", "outcome"})
	m.settledTokens = f.NewCounterVec(prometheus.CounterOpts{
		Name: "jeton_settled_tokens_total",
		Help: "Tokens of holds that were settled for good and not lost, by limit: held when they were taken, charged in the end, and charged beyond what was held.",
	}, []string{"limit", "tokens"})
}

// observe registers the gauges: how many keys are awake and dormant, and how many bytes they hold, which are read off the running shards.
func observe(reg prometheus.Registerer, awake, dormant, held func() int64, budget int64) {
	f := promauto.With(reg)
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_awake_actors",
		Help: "Keys held in memory.",
	}, func() float64 { return float64(awake()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_dormant_keys",
		Help: "Keys of which only line is held in memory, that was reserved and not spent.",
	}, func() float64 { return float64(dormant()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_actor_memory_bytes",
		Help: "About how much memory awake and dormant keys take, with what they remember.",
	}, func() float64 { return float64(held()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jeton_actor_memory_budget_bytes",
		Help: "How much memory awake and dormant keys and the checks that wait may take; 0 for no bound.",
	}, func() float64 { return float64(budget) })
}

// counts are what one shard has counted since the last flush, on its way to the metrics, which shards share.
type counts struct {
	metrics *metrics
	byLimit map[string]*tally
	last    *tally   // the one that was counted in last
	changed []*tally // those that have something to flush
	needed  tallied
	ahead   tallied
	entered tallied
	refused [len(refusalLabels)]tallied // by verdict
}

// A tally counts what one limit said.
type tally struct {
	label string
	said  [outcomes]tallied
	used  *atomic.Int64 // of metrics.used
	holds *holdTally    // nil until there is a hold
	dirty bool
}

// A holdTally counts the holds of one limit.
type holdTally struct {
	taken, tokens, expired tallied
	settled                [settlements]tallied
	sizes                  [settledTokens]tallied
}

func (h *holdTally) flush() {
	if h == nil {
		return
	}
	h.taken.flush()
	h.tokens.flush()
	h.expired.flush()
	for i := range h.settled {
		h.settled[i].flush()
	}
	for i := range h.sizes {
		h.sizes[i].flush()
	}
}

// tallied is a counter with what is to be added to it.
type tallied struct {
	counter prometheus.Counter
	n       int
}

func (t *tallied) flush() {
	if t.n > 0 {
		t.counter.Add(float64(t.n))
		t.n = 0
	}
}

func newCounts(m *metrics) counts {
	c := counts{
		metrics: m,
		byLimit: map[string]*tally{},
		needed:  tallied{counter: m.reservations.WithLabelValues("needed")},
		ahead:   tallied{counter: m.reservations.WithLabelValues("ahead")},
		entered: tallied{counter: m.entered},
	}
	for v := register.Taken; int(v) < len(refusalLabels); v++ {
		c.refused[v].counter = m.refusals.WithLabelValues(refusalLabels[v])
	}
	return c
}

// outcomeOf is what a limit said in a decision.
func outcomeOf(d *limit.Decision, o *limit.Outcome) int {
	switch {
	case d.Allowed:
		return allowed
	case !o.Allowed:
		return denied
	}
	return spared
}

// judged counts a decision of overrides alone, on stored limits, which no shard has seen.
func (m *metrics) judged(d *limit.Decision, now int64) {
	for i := range d.Limits {
		o := &d.Limits[i]
		m.decisions.WithLabelValues(o.Name, outcomeLabels[outcomeOf(d, o)]).Inc()
		used, _ := m.used.LoadOrStore(o.Name, new(atomic.Int64))
		used.(*atomic.Int64).Store(now) //nolint:forcetypeassert // nothing else is stored
	}
}

// labelOf is the name of a limit in metrics.
func labelOf(name string, inline bool) string {
	if inline {
		return inlineLabel
	}
	return name
}

// decision counts what each limit said in the decision that the owner has made, and in that of overrides.
func (c *counts) decision(m *mail, d *limit.Decision) {
	inline := m.inline
	if m.judged != nil {
		whole := m.judged.merge(*d)
		d, inline = &whole, m.judged.inline
	}
	for i := range d.Limits {
		o := &d.Limits[i]
		label := labelOf(o.Name, inline&(1<<i) != 0)
		what := outcomeOf(d, o)
		t := c.of(label)
		t.said[what].n++
		c.touch(t)
	}
}

// lease counts what became of an edge's wish for a lease, nil for a denial. It is cold if the bucket would have been leased had its key been hot.
func (c *counts) lease(rule *limit.Rule, l *limit.Lease, cold bool) {
	c.touch(c.of(rule.Name))
	switch {
	case l != nil:
	case cold:
		c.metrics.leases.WithLabelValues(rule.Name, "cold").Inc()
		return
	default:
		c.metrics.leases.WithLabelValues(rule.Name, "denied").Inc()
		return
	}
	c.metrics.leases.WithLabelValues(rule.Name, "given").Inc()
	c.metrics.leasedTokens.WithLabelValues(rule.Name).Add(float64(rule.TokensIn(l.End - l.Start)))
}

// report counts what an edge has reported as spent.
func (c *counts) report(rule *limit.Rule, tokens int64) {
	c.touch(c.of(rule.Name))
	c.metrics.reported.WithLabelValues(rule.Name).Add(float64(tokens))
}

// touch notes that t has something to flush.
func (c *counts) touch(t *tally) {
	if !t.dirty {
		t.dirty = true
		c.changed = append(c.changed, t)
	}
}

// hold counts what a hold has taken.
func (c *counts) hold(h *limit.Hold) {
	for i := range h.Limits {
		t := c.holdsOf(labelOf(h.Limits[i].Limit, h.Limits[i].Inline != nil))
		t.taken.n++
		t.tokens.n += int(h.Granted)
	}
}

// settlement counts what a settlement has come to for each limit.
func (c *counts) settlement(settles []owner.Settle) {
	for i := range settles {
		s := &settles[i]
		t, outcome := c.holdsOf(labelOf(s.Rule.Name, s.Rule.Inline)), settlementOf(s)
		t.settled[outcome].n++
		switch outcome {
		case settledLate:
			if s.Rule.Counts() { // of others, the owner tells it
				t.expired.n++
			}
			fallthrough
		case settledInTime:
			t.sizes[tokensHeld].n += int(s.Amount)
			t.sizes[tokensCharged].n += int(s.Settled.Charged)
			t.sizes[tokensBeyond].n += int(max(0, s.Settled.Charged-s.Amount))
		}
	}
}

// settlementOf is what became of a settlement. One for good is counted once: repetitions find that the hold is settled.
func settlementOf(s *owner.Settle) int {
	switch {
	case s.Settled.State == limit.HoldUnknown:
		return unknownToLimit
	case s.Met == limit.HoldSettled:
		return settledAgain
	case s.Open:
		return leftOpen
	case s.Met == limit.HoldLost:
		return settledLost
	case s.Met == limit.HoldExpired:
		return settledLate
	}
	return settledInTime
}

// expired counts holds that have expired, each by its limit.
func (c *counts) expired(limits []*limit.Rule) {
	for _, rule := range limits {
		c.holdsOf(labelOf(rule.Name, rule.Inline)).expired.n++
	}
}

// holdsOf counts the holds of a limit, and will be flushed.
func (c *counts) holdsOf(label string) *holdTally {
	t, m := c.of(label), c.metrics
	c.touch(t)
	if t.holds != nil {
		return t.holds
	}
	h := &holdTally{
		taken:   tallied{counter: m.holds.WithLabelValues(label)},
		tokens:  tallied{counter: m.holdTokens.WithLabelValues(label)},
		expired: tallied{counter: m.expired.WithLabelValues(label)},
	}
	for i, outcome := range settlementLabels {
		h.settled[i].counter = m.settlements.WithLabelValues(label, outcome)
	}
	for i, tokens := range settledTokenLabels {
		h.sizes[i].counter = m.settledTokens.WithLabelValues(label, tokens)
	}
	t.holds = h
	return h
}

func (c *counts) of(label string) *tally {
	if c.last != nil && c.last.label == label {
		return c.last
	}
	t := c.byLimit[label]
	if t == nil {
		used, _ := c.metrics.used.LoadOrStore(label, new(atomic.Int64))
		t = &tally{label: label, used: used.(*atomic.Int64)} //nolint:forcetypeassert // nothing else is stored
		for i, outcome := range outcomeLabels {
			t.said[i].counter = c.metrics.decisions.WithLabelValues(label, outcome)
		}
		c.byLimit[label] = t
	}
	c.last = t
	return t
}

func (c *counts) sent(background bool) {
	if background {
		c.ahead.n++
	} else {
		c.needed.n++
	}
}

func (c *counts) answer(v register.Verdict) {
	if v > register.Accepted && int(v) < len(c.refused) {
		c.refused[v].n++
	}
}

// flush brings the metrics up to date.
func (c *counts) flush(now int64) {
	c.needed.flush()
	c.ahead.flush()
	c.entered.flush()
	for i := range c.refused {
		c.refused[i].flush()
	}
	for _, t := range c.changed {
		t.dirty = false
		for i := range t.said {
			if t.said[i].n > 0 {
				t.used.Store(now)
			}
			t.said[i].flush()
		}
		t.holds.flush()
	}
	c.changed = c.changed[:0]
}
