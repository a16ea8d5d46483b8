package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Model is the simplest correct Limiter: every bucket in one map behind one lock, nothing durable, nothing
// distributed, nothing ever forgotten. It is what the others are compared with.
type Model struct {
	doc   *limit.Document
	now   func() int64
	owner limit.OwnerID

	all sync.Mutex // one CheckAll at a time; tests make no other checks beside one

	mu       sync.Mutex
	buckets  map[bucketName]*bucket
	answered map[requestName]limit.Decision
}

type (
	bucketName  struct{ key, limit string }
	requestName struct{ key, id string }
)

// A piece is a part of a bucket's line, exact at both ends.
type piece struct{ start, end limit.Pos }

// A bucket is the state of one limit of one key.
type bucket struct {
	rule       *limit.Rule
	tat        limit.Pos
	generation int64
	credit     []piece            // returned line, to be spent again from the front
	serial     uint64             // of the last receipt
	given      map[uint64][]piece // what each receipt consumed, until it is returned or the bucket is full
	recent     []limit.Recent
}

// NewModel makes a Model with the limits of doc that reads the time, in nanoseconds since the Unix epoch, from now.
func NewModel(doc *limit.Document, now func() int64) *Model {
	return &Model{
		doc: doc, now: now, owner: limit.OwnerID{15: 1},
		buckets: map[bucketName]*bucket{}, answered: map[requestName]limit.Decision{},
	}
}

// Check implements [limit.Checker].
func (m *Model) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	if err := r.Validate(); err != nil {
		return limit.Decision{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if d, again := m.answered[requestName{r.Key, r.ID}]; again && r.ID != "" {
		return d, nil
	}
	if r.Plan != "" {
		if err := m.doc.CheckPlan(r.Plan, r.Limits); err != nil {
			return limit.Decision{}, err
		}
	}
	now, buckets := m.now(), make([]*bucket, len(r.Limits))
	for i, ref := range r.Limits {
		b, err := m.bucketLocked(r.Key, ref, now)
		if err != nil {
			return limit.Decision{}, err
		}
		if p, ok := m.doc.Plan(ref.Name, r.Plan); ok {
			b.goBy(p.Rule)
		}
		if err := b.rule.AllowsWait(r.Wait); r.Wait > 0 && err != nil {
			return limit.Decision{}, err
		}
		if err := b.rule.AllowsHold(r.Hold); r.Hold > 0 && err != nil {
			return limit.Decision{}, err
		}
		buckets[i] = b
	}
	if r.Hold > 0 {
		return limit.Decision{}, errNoHolds
	}
	d := m.decide(buckets, now, r)
	for i, b := range buckets {
		d.Limits[i].Plan = m.doc.PlanOf(b.rule)
	}
	m.answered[requestName{r.Key, r.ID}] = d
	return d, nil
}

// bucketLocked is the bucket that ref means, as it is now, in nanoseconds since the Unix epoch.
func (m *Model) bucketLocked(key string, ref limit.Ref, now int64) (*bucket, error) {
	rule, err := m.doc.Resolve(ref)
	if err != nil {
		return nil, err
	}
	name := bucketName{key, rule.Name}
	b, ok := m.buckets[name]
	if !ok {
		b = &bucket{given: map[uint64][]piece{}}
		m.buckets[name] = b
	}
	b.goBy(rule)
	b.age(now)
	return b, nil
}

// goBy puts the bucket under another rule of its limit. What is spent stays spent.
func (b *bucket) goBy(rule *limit.Rule) {
	if b.rule != nil && *b.rule != *rule {
		b.tat, b.credit, b.given = rule.Carry(b.rule, b.tat), nil, map[uint64][]piece{}
	}
	b.rule = rule
}

// decide tests every limit, and charges them all if all of them admit.
func (m *Model) decide(buckets []*bucket, now int64, r limit.Request) limit.Decision {
	at := begin(buckets, now, r)
	d := limit.Decision{Allowed: true, Limits: make([]limit.Outcome, len(buckets))}
	for _, b := range buckets {
		d.Allowed = d.Allowed && b.admits(at, r.Tokens())
	}
	if d.Allowed {
		d.Wait = time.Duration(at - now)
	}
	for i, b := range buckets {
		free, alone := b.free(at), b.admits(at, r.Tokens())
		end := b.rule.End(free, at, b.rule.Length(r.Tokens()))
		if d.Allowed && r.Tokens() > 0 {
			receipt := b.spend(at, r.Tokens())
			receipt.Owner = m.owner
			if r.Receipt {
				d.Receipts = append(d.Receipts, receipt)
			}
		}
		d.Limits[i] = b.rule.Outcome(b.free(now), now, r.Tokens(), end, alone)
		if o := &d.Limits[i]; o.RetryAfter > 0 {
			o.RetryAfter = b.rule.Wait(end, now+int64(r.Wait))
		}
		b.recent = append(b.recent, limit.Recent{At: now, Cost: r.Tokens(), Allowed: d.Allowed})
	}
	return d
}

// begin is when a check begins that may wait: the first time from now on at which all buckets admit it, or the last one that it waits for.
func begin(buckets []*bucket, now int64, r limit.Request) int64 {
	latest := now + int64(r.Wait)
	for at := now; ; {
		next := at
		for _, b := range buckets {
			if r.Tokens() <= b.rule.Capacity && !b.admits(at, r.Tokens()) {
				next = max(next, b.rule.Start(b.free(at), at, b.rule.Length(r.Tokens())))
			}
		}
		switch {
		case next > latest:
			return latest
		case next == at:
			return at
		}
		at = next
	}
}

// age drops the credit that time has overtaken: no more counts than the line that is spent ahead of now. A bucket that
// is full owes nothing, so nothing can be given back to it.
func (b *bucket) age(now int64) {
	begin := limit.At(b.rule.Begin(now))
	if !b.tat.After(begin) {
		b.credit, b.given = nil, map[uint64][]piece{}
		return
	}
	for over := b.rule.Sub(b.credited(), b.rule.Sub(b.tat, begin)); over.After(limit.Pos{}); {
		over = b.rule.Sub(over, b.length(b.take(over)))
	}
}

func (b *bucket) length(p piece) limit.Pos { return b.rule.Sub(p.end, p.start) }

// credited is how much line can be spent again.
func (b *bucket) credited() (sum limit.Pos) {
	for _, p := range b.credit {
		sum = b.rule.Add(sum, b.length(p))
	}
	return sum
}

// take uses up the first piece of credit, or as much of it as most.
func (b *bucket) take(most limit.Pos) (used piece) {
	used = b.credit[0]
	if b.length(used).After(most) {
		used.end = b.rule.Add(used.start, most)
		b.credit[0].start = used.end
		return used
	}
	b.credit = b.credit[1:]
	return used
}

// free is where the line that can be spent begins: TAT − credit.
func (b *bucket) free(now int64) limit.Pos {
	return b.rule.Sub(limit.Later(b.tat, limit.At(b.rule.Begin(now))), b.credited())
}

func (b *bucket) admits(now, cost int64) bool {
	_, ok := b.rule.Decide(b.free(now), now, cost)
	return ok
}

// spend consumes line for cost, credit first.
func (b *bucket) spend(now, cost int64) limit.Receipt {
	rule := b.rule
	from, need := limit.Later(b.tat, limit.At(rule.Begin(now))), rule.Length(cost)
	var pieces []piece
	for len(b.credit) > 0 && need != (limit.Pos{}) {
		used := b.take(need)
		pieces = append(pieces, used)
		need = rule.Sub(need, b.length(used))
	}
	b.tat = rule.Add(from, need)
	b.serial++
	b.given[b.serial] = append([]piece{{from, b.tat}}, pieces...)
	receipt := limit.Receipt{
		Limit: rule.Name, Generation: b.generation, Serial: b.serial,
		Span: limit.Span{Start: from.NS, End: b.tat.NS},
	}
	for _, p := range pieces {
		receipt.Reuses = append(receipt.Reuses, limit.Span{Start: p.start.NS, End: p.end.NS})
	}
	return receipt
}

// CheckBatch implements [limit.BatchChecker].
func (m *Model) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	results := make([]limit.Result, len(rs))
	for i, r := range rs {
		if len(rs) > limit.MaxBatch {
			results[i].Err = &limit.FieldError{Field: "checks", Problem: "are too many for one batch"}
			continue
		}
		results[i].Decision, results[i].Err = m.Check(ctx, r)
	}
	return results
}

// CheckAll implements [limit.AllChecker], at one moment: what a denied request would have taken, it never took.
func (m *Model) CheckAll(ctx context.Context, rs []limit.Request) (limit.AllDecision, error) {
	if _, err := limit.PlanAll(rs); err != nil {
		return limit.AllDecision{}, err
	}
	m.all.Lock()
	defer m.all.Unlock()
	before := m.snapshot()
	a := limit.AllDecision{Allowed: true, Decisions: make([]limit.Decision, len(rs))}
	for i, r := range rs {
		d, err := m.Check(ctx, r)
		if err != nil {
			m.restore(before)
			if fe, is := errors.AsType[*limit.FieldError](err); is {
				return limit.AllDecision{}, &limit.FieldError{Field: fmt.Sprintf("checks[%d].%s", i, fe.Field), Problem: fe.Problem}
			}
			return limit.AllDecision{}, fmt.Errorf("checks[%d]: %w", i, err)
		}
		a.Decisions[i] = d
		if d.Allowed {
			continue
		}
		m.restore(before)
		a.Allowed, a.Denied = false, &limit.Denial{Check: i, Key: r.Key}
		for _, o := range d.Limits {
			if !o.Allowed {
				a.Denied.Limit = o.Name
				break
			}
		}
		for j := range a.Decisions {
			a.Decisions[j].Receipts = nil
		}
		break
	}
	return a, nil
}

// snapshot is what every bucket is now.
func (m *Model) snapshot() map[bucketName]bucket {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make(map[bucketName]bucket, len(m.buckets))
	for name, b := range m.buckets {
		kept := *b
		kept.credit, kept.given, kept.recent = slices.Clone(b.credit), maps.Clone(b.given), slices.Clone(b.recent)
		all[name] = kept
	}
	return all
}

// restore makes every bucket what it was.
func (m *Model) restore(before map[bucketName]bucket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.buckets)
	for name, b := range before {
		m.buckets[name] = &b
	}
}

// Return implements [limit.Returner].
func (m *Model) Return(_ context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	if err := limit.ValidateKey(key); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	returned := make([]bool, len(receipts))
	for i, r := range receipts {
		b, ok := m.buckets[bucketName{key, r.Limit}]
		if !ok || r.Owner != m.owner || r.Generation != b.generation {
			continue
		}
		b.age(m.now())
		var pieces []piece
		if pieces, returned[i] = b.given[r.Serial]; returned[i] {
			b.credit = append(b.credit, pieces...)
			delete(b.given, r.Serial)
			b.age(m.now())
		}
	}
	return returned, nil
}

// errNoHolds is the answer to a hold that the limits would allow.
var errNoHolds = errors.New("the model takes no holds")

// Settle implements [limit.Settler]: the Model has taken no hold.
func (*Model) Settle(_ context.Context, s limit.Settlement) (limit.Settled, error) {
	if err := s.Validate(); err != nil {
		return limit.Settled{}, err
	}
	return limit.Settled{}, limit.ErrUnknownHold
}

// Inspect implements [limit.Inspector].
func (m *Model) Inspect(_ context.Context, key string, ref limit.Ref, _ string) (limit.Inspection, error) {
	if err := limit.ValidateKey(key); err != nil {
		return limit.Inspection{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	b, err := m.bucketLocked(key, ref, now)
	if err != nil {
		return limit.Inspection{}, err
	}
	return limit.Inspection{
		Key: key, Rule: b.rule, Now: now, Epoch: 1, Owner: m.owner, Node: "model",
		Awake: b.tat.After(limit.At(now)), Generation: b.generation, TAT: b.tat.Ceil(),
		Tokens:    b.rule.Tokens(b.free(now), now),
		Credit:    b.credited().NS,
		Segment:   limit.Span{Start: b.tat.NS, End: b.tat.NS},
		Registers: []limit.Stored{{Node: "model", Exists: b.tat != limit.Pos{}, Generation: b.generation, Reserved: b.tat.Ceil()}},
		Recent:    slices.Clone(b.recent[max(0, len(b.recent)-8):]),
	}, nil
}

// Reset implements [limit.Resetter].
func (m *Model) Reset(_ context.Context, key string, ref limit.Ref) error {
	if err := limit.ValidateKey(key); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	b, err := m.bucketLocked(key, ref, now)
	if err != nil {
		return err
	}
	generation := max(now+b.rule.Reach(), b.tat.Ceil(), b.generation+1)
	*b = bucket{rule: b.rule, generation: generation, given: map[uint64][]piece{}, serial: b.serial, recent: b.recent}
	return nil
}
