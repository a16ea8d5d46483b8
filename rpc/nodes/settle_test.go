package nodes

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A second is the other node of a call, which counts how often it is asked beside the first one.
type second struct{ asked atomic.Int32 }

func (*second) more() bool  { return true }
func (*second) later() bool { return true }
func (s *second) again(context.Context) (int, error) {
	s.asked.Add(1)
	return 1, nil
}

// TestSettlementsAreNotHedged has a node fall silent: a settlement or a report that waits there is asked of no other node beside it, as a check is; it
// is given up once the node is known not to answer, and then goes on to the next.
func TestSettlementsAreNotHedged(t *testing.T) {
	for what, want := range map[string]int32{"a check": 1, "a settlement": 0, "a report": 0} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, err := New(Config{})
				if err != nil {
					t.Fatal(err)
				}
				defer set.Close() //nolint:errcheck // it has no node
				p := newPatient(t)
				p.answers(context.DeadlineExceeded)
				c, others, n := set.call(t.Context(), "k"), &second{}, &Node{health: p.health}
				switch what {
				case "a settlement":
					c = set.callSettle(t.Context(), &limit.Settlement{Hold: limit.Hold{Key: "k"}})
				case "a report":
					c = set.callCheck(t.Context(), "k", once(&limit.Request{Key: "k", Charge: true}))
				}
				var try attempt[int]
				ctx := try.begin(&c, n, others)
				pass(suspectAfter)
				p.want(t, suspect, 1)
				if got := others.asked.Load(); got != want {
					t.Errorf("another node was asked %d times, want %d", got, want)
				}
				<-ctx.Done()
				if got, err := try.end(n, 0, ctx.Err()); want == 0 && !c.movable(err) || want == 1 && got != 1 {
					t.Errorf("it ends with %d, %v", got, err)
				}
				if took := time.Since(c.deadline.Add(-set.cfg.Timeout)); want == 0 && took < giveUpAfter {
					t.Errorf("it was given up after %v", took)
				}
			})
		})
	}
}

// TestQueueGathersSettlements has checks and settlements wait: they travel in one message, and each gets the answer of its kind.
func TestQueueGathersSettlements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent [][]question
		release := make(chan struct{})
		q := &queue{maxMessages: 1, checks: new(atomic.Int64), maxChecks: 10, patience: time.Hour}
		q.send = func(_ context.Context, questions []question, answer func(int, reply)) error {
			sent = append(sent, questions)
			<-release
			for i := range questions {
				if s := questions[i].settlement; s != nil {
					answer(i, reply{settled: limit.Settled{Charged: s.GetUsed()}})
				} else {
					answer(i, reply{decision: limit.Decision{Allowed: true}})
				}
			}
			return nil
		}
		asked := []question{
			{settlement: &pb.SettleRequest{Used: 1}}, {check: &pb.CheckRequest{Key: "k"}}, {settlement: &pb.SettleRequest{Used: 3}},
		}
		replies := make([]reply, len(asked))
		for i := range asked {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				replies[i] = q.do(ctx, asked[i])
			}()
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		if len(sent) != 2 || len(sent[0]) != 1 || len(sent[1]) != 2 {
			t.Errorf("sent %v, want the first alone and the others together", sent)
		}
		for i, want := range []reply{{settled: limit.Settled{Charged: 1}}, {decision: limit.Decision{Allowed: true}}, {settled: limit.Settled{Charged: 3}}} {
			if got := replies[i]; got.err != nil || got.settled.Charged != want.settled.Charged || got.decision.Allowed != want.decision.Allowed {
				t.Errorf("question %d: %+v, want %+v", i, got, want)
			}
		}
		m := asMessage(sent[1], 0)
		if len(m.GetChecks()) != 1 || m.GetChecks()[0].GetId() != 0 || len(m.GetSettlements()) != 1 || m.GetSettlements()[0].GetId() != 1 {
			t.Errorf("the message is %v", m)
		}
	})
}

// TestSettlementWithoutAnAnswer is about a node that does not know settlements in streams: it passes over them, and they have met no
// answer, while the checks beside them have.
func TestSettlementWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{maxMessages: 1, checks: new(atomic.Int64), maxChecks: 10, patience: time.Hour}
		q.send = func(_ context.Context, questions []question, answer func(int, reply)) error {
			for i := range questions {
				if questions[i].check != nil {
					answer(i, reply{decision: limit.Decision{Allowed: true}})
				}
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if got := q.do(ctx, question{settlement: &pb.SettleRequest{}}); !errors.Is(got.err, limit.ErrUnavailable) {
			t.Errorf("%+v, want that no answer came", got)
		}
	})
}
