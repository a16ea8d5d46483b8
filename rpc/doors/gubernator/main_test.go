package gubernator

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const noLimits = "limits: {}"

// newDoor makes a door in front of a system whose registers are in memory, with the clock of the bubble. The stored limits are those of the
// document.
func newDoor(t *testing.T, document string) *service {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	limits := func() *limit.Document { return doc }
	now := clock.New().Now
	system, err := actor.New(actor.Config{
		Node: "here", Now: now, Limits: limits, Logger: slog.New(slog.DiscardHandler),
		Replicas: []actor.Replica{&registers{now: now, byBucket: map[[2]string]register.Register{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(system.Close)
	return door(t, Config{Limiter: system, Limits: limits}).service
}

func door(t *testing.T, cfg Config) *Door {
	t.Helper()
	d, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ask has the items decided.
func ask(t *testing.T, s *service, items ...*gubernatorpb.RateLimitReq) []*gubernatorpb.RateLimitResp {
	t.Helper()
	m, err := s.GetRateLimits(t.Context(), &gubernatorpb.GetRateLimitsReq{Requests: items})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.GetResponses()) != len(items) {
		t.Fatalf("%d answers to %d items", len(m.GetResponses()), len(items))
	}
	return m.GetResponses()
}

func sleep(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's clock
}

// registers are a replica in memory.
type registers struct {
	now func() int64

	mu       sync.Mutex
	byBucket map[[2]string]register.Register
}

func (r *registers) Reserve(rs []register.Reservation, done func([]register.Answer, error)) {
	r.mu.Lock()
	answers := make([]register.Answer, len(rs))
	for i, m := range rs {
		if m.Now == 0 {
			m.Now = r.now()
		}
		at := [2]string{m.Key, m.Limit}
		after, a, write := register.Partition{Epoch: ring.FirstEpoch}.Reserve(r.byBucket[at], m, r.now(), register.DefaultBounds())
		if answers[i] = a; write {
			r.byBucket[at] = after
		}
	}
	r.mu.Unlock()
	done(answers, nil)
}

func (r *registers) Look(_ context.Context, _ ring.Partition, key, name string) (storage.Looked, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reg, ok := r.byBucket[[2]string{key, name}]
	return storage.Looked{Register: reg, Exists: ok, Partition: register.Partition{Epoch: ring.FirstEpoch}}, nil
}
