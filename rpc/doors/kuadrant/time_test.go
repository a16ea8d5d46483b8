package kuadrant_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jeton-dev/jeton/rpc/doors/doorstest"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant"
	"github.com/jeton-dev/jeton/rpc/pb/kuadrantpb"
)

// registrar takes the service that a door registers.
type registrar struct {
	service kuadrantpb.RateLimitServiceServer
}

func (r *registrar) RegisterService(_ *grpc.ServiceDesc, service any) {
	r.service, _ = service.(kuadrantpb.RateLimitServiceServer)
}

// A bubble is a door that is called in the goroutine of the test, where no network is known, and time passes at once.
type bubble struct {
	tb      testing.TB
	service kuadrantpb.RateLimitServiceServer
}

// inBubble runs a test with a limit of 10 in windows of so many seconds, at the begin of one.
func inBubble(t *testing.T, seconds int, test func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		path := write(t, fmt.Sprintf("- {namespace: ns, max_value: 10, seconds: %d, conditions: [], variables: []}\n", seconds))
		door, err := kuadrant.New(kuadrant.Config{Limiter: doorstest.NewSystem(t, ""), Path: path})
		if err != nil {
			t.Fatal(err)
		}
		var r registrar
		door.Register(&r)
		window := time.Duration(seconds) * time.Second
		pass(window - time.Duration(time.Now().UnixNano()%int64(window)) + time.Millisecond)
		test(&bubble{t, r.service})
	})
}

// pass lets time pass in a bubble.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // of the bubble

func (b *bubble) reserve(amount uint64, ttl time.Duration) (id string, allowed bool) {
	b.tb.Helper()
	r := &kuadrantpb.ReserveRequest{Domain: "ns", Amount: amount}
	if ttl != 0 {
		r.Ttl = durationpb.New(ttl)
	}
	got, err := b.service.Reserve(context.WithoutCancel(b.tb.Context()), r)
	if err != nil {
		b.tb.Fatal(err)
	}
	return got.GetReservationId(), got.GetCode() == ok
}

func (b *bubble) commit(id string, used uint64) (released bool) {
	b.tb.Helper()
	got, err := b.service.Commit(context.WithoutCancel(b.tb.Context()), &kuadrantpb.CommitRequest{Domain: "ns", ReservationId: id, ActualAmount: used})
	if err != nil {
		b.tb.Fatal(err)
	}
	return got.GetReservationReleased()
}

// left compares what is left.
func (b *bubble) left(when string, want uint64) {
	b.tb.Helper()
	if _, allowed := b.reserve(want+1, time.Second); allowed {
		b.tb.Errorf("%s, more than %d are left", when, want)
	}
	if want == 0 {
		return
	}
	id, allowed := b.reserve(want, time.Second)
	if !allowed {
		b.tb.Errorf("%s, less than %d are left", when, want)
		return
	}
	b.commit(id, 0)
}

// windows are both kinds: one whose holds are in the memory of the owner, and one whose holds are stored.
func windows(t *testing.T, test func(b *bubble, window time.Duration)) {
	t.Helper()
	for _, seconds := range []int{600, 3600} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			inBubble(t, seconds, func(b *bubble) { test(b, time.Duration(seconds)*time.Second) })
		})
	}
}

// A reservation that nobody commits ends by itself, after its ttl or the minute that Limitador has, and a later commit charges what was used, once.
func TestReservationsEnd(t *testing.T) {
	windows(t, func(b *bubble, _ time.Duration) {
		usual, _ := b.reserve(4, 0)
		negative, _ := b.reserve(2, -time.Second)
		short, _ := b.reserve(1, time.Nanosecond)
		long, _ := b.reserve(3, 100*time.Hour)
		b.left("at the beginning", 0)
		pass(2 * time.Second)
		b.left("after the shortest", 1)
		pass(59 * time.Second)
		b.left("after a minute", 7)
		for range 2 {
			if !b.commit(usual, 3) || !b.commit(short, 0) {
				b.tb.Error("a late commit finds nothing")
			}
		}
		b.left("after a late commit", 4)
		if !b.commit(negative, 2) || !b.commit(long, 1) {
			b.tb.Error("a commit finds nothing")
		}
		b.left("after all", 4)
	})
}

// Ten minutes after it has ended, a reservation is not known any more: a commit charges as a report does, and a repetition of it nothing.
func TestCommitLongAfter(t *testing.T) {
	inBubble(t, 7200, func(b *bubble) {
		id, _ := b.reserve(4, 0)
		kept, _ := b.reserve(3, 0)
		b.commit(kept, 3)
		pass(20 * time.Minute)
		b.left("after twenty minutes", 7)
		for range 3 {
			if b.commit(id, 5) {
				b.tb.Error("a reservation is known for ever")
			}
		}
		b.left("after a commit without a hold", 2)
		b.commit(kept, 3)
		b.left("after a repetition", 2)
	})
}

// A commit whose answer was lost is repeated in the next window: it was charged in the one before, and is not charged again.
func TestCommitRepeatedInTheNextWindow(t *testing.T) {
	windows(t, func(b *bubble, window time.Duration) {
		pass(window - 10*time.Second)
		id, _ := b.reserve(4, time.Minute)
		b.commit(id, 7)
		b.left("in the window of the commit", 3)
		pass(15 * time.Second)
		if !b.commit(id, 7) {
			b.tb.Error("the repetition finds nothing")
		}
		b.left("after the repetition", 10)
	})
}

// What was held counts in the window in which it was reserved. What was used beyond it counts there too if the window is stored, and in the window of the commit if its owner keeps it in memory.
func TestCommitInTheNextWindow(t *testing.T) {
	windows(t, func(b *bubble, window time.Duration) {
		pass(window - 10*time.Second)
		id, _ := b.reserve(4, time.Minute)
		less, _ := b.reserve(5, time.Minute)
		b.left("before the end", 1)
		pass(20 * time.Second)
		b.left("in the next window", 10)
		for range 3 {
			if !b.commit(id, 7) || !b.commit(less, 1) {
				b.tb.Error("a commit finds nothing")
			}
		}
		left := uint64(7)
		if window > 10*time.Minute {
			left = 10
		}
		b.left("after the commits", left)
		pass(window)
		b.left("in the one after that", 10)
	})
}
