package actor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// A replica is a Replica made of functions.
type replica struct {
	reserve func([]register.Reservation, func([]register.Answer, error))
	look    func(context.Context, ring.Partition, string, string) (storage.Looked, error)
}

func (r replica) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	r.reserve(rs, done)
}

func (r replica) Look(ctx context.Context, p ring.Partition, key, name string) (storage.Looked, error) {
	return r.look(ctx, p, key, name)
}

// registers are a Replica that takes the steps of every replica, in memory and at once.
type registers struct {
	now  func() int64
	sent func() int64 // the clock of the System, by which reservations are stamped when they are sent

	mu        sync.Mutex
	partition register.Partition
	byBucket  map[bucketID]register.Register
	writes    int
}

type bucketID struct{ key, limit string }

func newRegisters(now func() int64) *registers {
	return &registers{
		now: now, sent: now, partition: register.Partition{Epoch: ring.FirstEpoch}, byBucket: map[bucketID]register.Register{},
	}
}

func (r *registers) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	done(r.decide(rs), nil)
}

func (r *registers) decide(rs []register.Reservation) []register.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := make([]register.Answer, len(rs))
	for i, m := range rs {
		id := bucketID{m.Key, m.Limit}
		if m.Now == 0 {
			m.Now = r.sent()
		}
		after, a, write := r.partition.Reserve(r.byBucket[id], m, r.now(), register.DefaultBounds())
		if answers[i] = a; write {
			r.byBucket[id] = after
			r.writes++
		}
	}
	return answers
}

func (r *registers) Look(_ context.Context, _ ring.Partition, key, name string) (storage.Looked, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reg, ok := r.byBucket[bucketID{key, name}]
	return storage.Looked{Register: reg, Exists: ok, Partition: r.partition}, nil
}

// snapshot is what is stored.
func (r *registers) snapshot() map[bucketID]register.Register {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.byBucket)
}

// A gate stands before a Replica and keeps back its answers to every batch with a key that begins with one of shut. The
// Replica has made the reservations by then.
type gate struct {
	Replica

	mu   sync.Mutex
	shut []string
	held []func()
}

func (g *gate) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	g.Replica.Reserve(rs, func(answers []register.Answer, err error) {
		g.mu.Lock()
		hold := slices.ContainsFunc(rs, func(m register.Reservation) bool {
			return slices.ContainsFunc(g.shut, func(prefix string) bool { return strings.HasPrefix(m.Key, prefix) })
		})
		if hold {
			g.held = append(g.held, func() { done(answers, err) })
		}
		g.mu.Unlock()
		if !hold {
			done(answers, err)
		}
	})
}

// shutFor is a gate before registers in memory that keeps back answers for keys that begin with prefix, and the clock of both.
func shutFor(prefix string) (*gate, func() int64) {
	now := clock.New().Now
	return &gate{Replica: newRegisters(now), shut: []string{prefix}}, now
}

// open gives all answers that were kept back, and keeps none from now on.
func (g *gate) open() {
	g.mu.Lock()
	held := g.held
	g.held, g.shut = nil, nil
	g.mu.Unlock()
	for _, give := range held {
		give()
	}
}

// A slow replica answers after a while.
type slow struct {
	Replica
	after time.Duration
}

func (s slow) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	s.Replica.Reserve(rs, func(answers []register.Answer, err error) {
		time.AfterFunc(s.after, func() { done(answers, err) })
	})
}

// A faulty replica fails some batches: it answers with an error, and has reserved nothing, or everything.
type faulty struct {
	Replica
	happened bool          // what fails was reserved all the same
	after    time.Duration // how long a failure takes; 0: it is answered at once

	mu   sync.Mutex
	fail int                    // how many of the next batches fail
	lost []register.Reservation // what failed
}

// errFaulty is what a faulty replica says.
var errFaulty = errors.New("the replica has failed")

func (f *faulty) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	f.mu.Lock()
	fails := f.fail > 0
	if fails {
		f.fail--
		f.lost = append(f.lost, rs...)
	}
	f.mu.Unlock()
	answer := func([]register.Answer, error) {
		if f.after == 0 {
			done(nil, errFaulty)
		} else {
			time.AfterFunc(f.after, func() { done(nil, errFaulty) })
		}
	}
	switch {
	case !fails:
		f.Replica.Reserve(rs, done)
	case f.happened:
		f.Replica.Reserve(rs, answer)
	default:
		answer(nil, nil)
	}
}

func sameRegister(a, b register.Register) bool {
	return a.Generation == b.Generation && a.H == b.H && a.Seq == b.Seq && a.From == b.From
}
