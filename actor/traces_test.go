package actor

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// An aTrace notes what becomes of its checks.
type aTrace struct {
	text string

	mu       sync.Mutex
	reserves []bool // of each call: it waits
}

func (t *aTrace) Text() string { return t.text }

func (t *aTrace) Reserves(waits bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reserves = append(t.reserves, waits)
}

// A seeing is a replica that notes the traces of what is reserved.
type seeing struct {
	*storage.Store
	seen []string
}

func (s *seeing) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	for i := range rs {
		if rs[i].Trace != "" {
			s.seen = append(s.seen, rs[i].Trace)
		}
	}
	s.Store.Reserve(rs, done)
}

// A check that waits for replicas tells its trace so, and they are told of it; a denial reserves nothing, and a check
// without a trace brings none along.
func TestTraceReachesReplicas(t *testing.T) {
	replica := &seeing{Store: open(t, storage.Config{})}
	s := start(t, Config{Replicas: []Replica{replica}, Shards: 1, IdleAfter: time.Hour})
	ask := func(trace limit.Trace, cost int64) {
		t.Helper()
		ctx := t.Context()
		if trace != nil {
			ctx = limit.WithTrace(limit.WithCaller(ctx, "caller"), trace)
		}
		if d, err := s.Check(ctx, spend("k", cost, "slow")); err != nil || d.Allowed != (cost == 1) {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	first, second := &aTrace{text: "first"}, &aTrace{text: "second"}
	ask(first, 1)
	ask(second, 1000)
	ask(nil, 1)
	if got := strings.Join(replica.seen, " "); got != "first" {
		t.Errorf("the replica was told of %q", got)
	}
	if len(first.reserves) != 1 || !first.reserves[0] {
		t.Errorf("the first check notes %v", first.reserves)
	}
	if len(second.reserves) != 0 {
		t.Errorf("a check that is denied from memory notes %v", second.reserves)
	}
	if n := len(s.shards[0].traces.waiting); n != 0 {
		t.Errorf("%d traces are kept when nothing waits", n)
	}
}

// The Caller stays what it was.
func TestTraceKeepsTheCaller(t *testing.T) {
	trace := &aTrace{}
	ctx := limit.WithTrace(limit.WithCaller(t.Context(), "caller"), trace)
	if c, got := limit.TracedCallerOf(ctx); c != "caller" || got != trace {
		t.Errorf("%v, %v", c, got)
	}
	if limit.CallerOf(ctx) != "caller" {
		t.Error("CallerOf does not find the caller")
	}
}

// A slowReplica keeps what it is asked until the test lets it answer, and notes the traces.
type slowReplica struct {
	Replica

	mu    sync.Mutex
	asked []func()
	seen  []string
}

func (s *slowReplica) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rs {
		s.seen = append(s.seen, rs[i].Trace)
	}
	s.asked = append(s.asked, func() { s.Replica.Reserve(rs, done) })
}

// answer has the replica answer what it was asked first.
func (s *slowReplica) answer() bool {
	s.mu.Lock()
	if len(s.asked) == 0 {
		s.mu.Unlock()
		return false
	}
	first := s.asked[0]
	s.asked = s.asked[1:]
	s.mu.Unlock()
	first()
	synctest.Wait()
	return true
}

// A span that was answered waits for nothing: what its key reserves afterwards is not of its trace, though other checks of the key wait all
// the time.
func TestTraceEndsWithItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replica := &slowReplica{Replica: newRegisters(bubbleClock)}
		s := start(t, Config{
			Now: bubbleClock, Replicas: []Replica{replica}, Shards: 1, Limits: fixed(document(t, "limits: {log: {algorithm: sliding-log, limit: 1000, window: 1m}}")),
		})
		var checks sync.WaitGroup
		ask := func(trace limit.Trace) (answered chan struct{}) {
			answered = make(chan struct{})
			checks.Go(func() {
				defer close(answered)
				ctx := t.Context()
				if trace != nil {
					ctx = limit.WithTrace(ctx, trace)
				}
				if d, err := s.Check(ctx, spend("k", 1, "log")); err != nil || !d.Allowed {
					t.Errorf("%+v, %v", d, err)
				}
			})
			synctest.Wait()
			return answered
		}
		traced := ask(&aTrace{text: "first"})
		for range 20 { // there is always one that waits
			ask(nil)
			replica.answer()
		}
		select {
		case <-traced:
		default:
			t.Fatal("the traced check has no answer")
		}
		replica.mu.Lock()
		seen := len(replica.seen)
		replica.mu.Unlock()
		for range 5 {
			ask(nil)
			replica.answer()
		}
		if of := replica.seen[seen:]; len(of) == 0 || of[len(of)-1] != "" {
			t.Errorf("after its check was answered, replicas are told of %q", of)
		}
		for replica.answer() {
		}
		checks.Wait()
	})
}
