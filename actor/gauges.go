package actor

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// gaugedFor is for how long after its last check a key can be among the busiest of a limit.
	gaugedFor = time.Minute
	// gaugeAges is how often what was counted of a key counts half: a key that was busy makes room for one that is.
	gaugeAges = 10 * time.Second
	// leastGauged is how many keys of a limit a shard counts at least. It counts more than are shown, so that a busy key
	// cannot lose its place to one that is checked once.
	leastGauged = 32
)

// gauges are what a shard remembers of the busiest keys of limits that have gauges.
type gauges struct {
	mu      sync.Mutex
	byLimit map[string]*gaugedLimit
}

// A gaugedLimit counts the checks of the busiest keys of one limit. A key without a place takes that of the key with the fewest checks, and
// its count: so any key has a place that has a larger part of all checks than one in as many as there are places.
type gaugedLimit struct {
	ages   int64 // when counts are halved, on the node clock
	places []gaugedKey
	found  map[string]int // the index in places, by key
}

// A gaugedKey is what the last check of a key has found in its bucket.
type gaugedKey struct {
	key       string
	checks    int64
	rule      *limit.Rule
	capacity  int64
	remaining int64
	closed    bool
	at        int64 // on the node clock
	full      int64 // when the bucket is full again, unless it is spent from
}

// note takes in what a check of a key has found.
func (g *gauges) note(key string, rules []*limit.Rule, d *limit.Decision, now int64) {
	if len(d.Limits) != len(rules) {
		return
	}
	for i, rule := range rules {
		if rule.Gauges == 0 {
			continue
		}
		g.mu.Lock()
		of := g.byLimit[rule.Name]
		if of == nil {
			if g.byLimit == nil {
				g.byLimit = map[string]*gaugedLimit{}
			}
			of = &gaugedLimit{ages: now + int64(gaugeAges), found: map[string]int{}}
			g.byLimit[rule.Name] = of
		}
		of.note(key, rule, &d.Limits[i], now)
		g.mu.Unlock()
	}
}

func (l *gaugedLimit) note(key string, rule *limit.Rule, o *limit.Outcome, now int64) {
	l.age(now)
	at, ok := l.found[key]
	switch {
	case ok:
	case len(l.places) < max(2*rule.Gauges, leastGauged):
		at = len(l.places)
		l.places = append(l.places, gaugedKey{})
	default:
		at = l.least()
		delete(l.found, l.places[at].key)
	}
	l.found[key] = at
	l.places[at] = gaugedKey{
		key: key, checks: l.places[at].checks + 1, rule: rule, at: now,
		capacity: o.Limit, remaining: o.Remaining, closed: o.Closed, full: now + int64(o.ResetAfter),
	}
}

// age halves what was counted, once for each gaugeAges that is over.
func (l *gaugedLimit) age(now int64) {
	if now < l.ages {
		return
	}
	times := 1 + (now-l.ages)/int64(gaugeAges)
	l.ages += times * int64(gaugeAges)
	for i := range l.places {
		l.places[i].checks >>= min(times, 63)
	}
}

// least is the place of the key with the fewest checks.
func (l *gaugedLimit) least() (at int) {
	for i := range l.places {
		if l.places[i].checks < l.places[at].checks {
			at = i
		}
	}
	return at
}

// left is how many tokens remain now: those that its last check has left, and, in a bucket that is refilled, what has come back since.
// Of other algorithms it is known when the bucket is full again, and not what comes back before.
func (k *gaugedKey) left(now int64) int64 {
	switch {
	case now >= k.full:
		return k.capacity
	case k.rule.Algorithm == limit.TokenBucket && !k.rule.Counts() && !k.closed:
		return max(k.rule.Tokens(limit.At(k.full), now), k.remaining)
	}
	return k.remaining
}

// busiest adds to all, by limit, the keys that were checked within gaugedFor. It forgets limits that have no gauges in the document any more.
func (g *gauges) busiest(all map[string][]gaugedKey, doc *limit.Document, now int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for name, of := range g.byLimit {
		if rule, ok := doc.Rule(name); !ok || rule.Gauges == 0 {
			delete(g.byLimit, name)
			continue
		}
		for _, k := range of.places {
			if now-k.at < int64(gaugedFor) {
				all[name] = append(all[name], k)
			}
		}
	}
}

// A GaugedBucket is how full the bucket of a busy key is.
type GaugedBucket struct {
	Limit, Key string
	Label      string  // by which metrics name the key
	Remaining  int64   // whole tokens
	Used       float64 // the share of the capacity that is not there, 0 to 1
}

// gauged are the buckets of the busiest keys of each limit that has gauges: as many as the limit says, the busiest first. Two keys whose labels
// are the same, since labels are cut, are told as one, the busier one.
func (s *System) gauged() (told []GaugedBucket) {
	all, doc, now := map[string][]gaugedKey{}, s.cfg.Limits(), s.cfg.Now()
	for _, sh := range s.shards {
		sh.gauges.busiest(all, doc, now)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		keys := all[name]
		rule, _ := doc.Rule(name)
		slices.SortFunc(keys, func(a, b gaugedKey) int {
			return cmp.Or(cmp.Compare(b.checks, a.checks), cmp.Compare(a.key, b.key))
		})
		labels := map[string]bool{}
		for i := range keys[:min(len(keys), rule.Gauges)] {
			k := &keys[i]
			label := s.labels.of(k.key)
			if labels[label] {
				continue
			}
			labels[label] = true
			left := k.left(now)
			told = append(told, GaugedBucket{
				Limit: name, Key: k.key, Label: label, Remaining: left,
				Used: min(max(1-float64(left)/float64(k.capacity), 0), 1),
			})
		}
	}
	return told
}

// bucketGauges shows metrics of buckets of the busiest keys, and only of these: a key that is no longer among them has no series.
type bucketGauges struct {
	gauged          func() []GaugedBucket
	used, remaining *prometheus.Desc
}

func newBucketGauges(gauged func() []GaugedBucket) bucketGauges {
	of := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"limit", "key"}, nil)
	}
	return bucketGauges{
		gauged: gauged,
		used: of("jeton_bucket_used_ratio", "How full of use the bucket of a key is, 0 to 1: the share of its capacity that is not there. Only of limits with gauges, of "+
			"their busiest keys of the last minute. The label key is a hash, which /debug/actors has too, unless the node shows hot keys."),
		remaining: of("jeton_bucket_remaining", "Tokens that the bucket of a key has left, likewise."),
	}
}

// Describe implements prometheus.Collector.
func (b bucketGauges) Describe(to chan<- *prometheus.Desc) {
	to <- b.used
	to <- b.remaining
}

// Collect implements prometheus.Collector.
func (b bucketGauges) Collect(to chan<- prometheus.Metric) {
	for _, g := range b.gauged() {
		to <- prometheus.MustNewConstMetric(b.used, prometheus.GaugeValue, g.Used, g.Limit, g.Label)
		to <- prometheus.MustNewConstMetric(b.remaining, prometheus.GaugeValue, float64(g.Remaining), g.Limit, g.Label)
	}
}
