package actor

import (
	"strings"
	"sync"
	"testing"

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
	s := start(t, Config{Replicas: []Replica{replica}, Shards: 1})
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
