package actor

import (
	"errors"
	"testing"

	"github.com/jeton-dev/jeton/storage/register"
)

// TestAnswersThatNobodyWaitsFor has three replicas answer: a shard is woken when that makes a majority, and by each answer once one of them
// has not accepted everything.
func TestAnswersThatNobodyWaitsFor(t *testing.T) {
	yes, no, broken := register.Answer{Verdict: register.Accepted}, register.Answer{Verdict: register.Taken}, errors.New("broken")
	type answer struct {
		said []register.Answer
		err  error
	}
	all, some := answer{said: []register.Answer{yes, yes}}, answer{said: []register.Answer{yes, no}}
	for what, c := range map[string]struct {
		replicas int
		answers  []answer
		want     []bool
	}{
		"accepted":       {3, []answer{all, all, all}, []bool{false, true, false}},
		"accepted by 5":  {5, []answer{all, all, all, all, all}, []bool{false, false, true, false, false}},
		"alone":          {1, []answer{all}, []bool{true}},
		"refused first":  {3, []answer{some, all, all}, []bool{true, true, true}},
		"refused second": {3, []answer{all, some, all}, []bool{false, true, true}},
		"refused last":   {3, []answer{all, all, some}, []bool{false, true, true}},
		"lost":           {3, []answer{{err: broken}, all, all}, []bool{true, true, true}},
		"too few":        {3, []answer{all, {said: []register.Answer{yes}}, all}, []bool{false, true, true}},
	} {
		s := &sending{set: &ReplicaSet{Replicas: make([]Replica, c.replicas)}, reservations: make([]register.Reservation, 2)}
		b := &inbox{}
		for i, a := range c.answers {
			if got := b.pushAnswers(answered{replica: i, sent: s, answers: a.said, err: a.err}); got != c.want[i] {
				t.Errorf("%s: answer %d: %t, want %t", what, i+1, got, c.want[i])
			}
			if b.waits() != c.want[i] {
				t.Errorf("%s: after answer %d the inbox waits: %t, want %t", what, i+1, b.waits(), c.want[i])
			}
			if got := len(b.takeAnswers(nil)); got != 1 || b.waits() {
				t.Errorf("%s: %d answers are taken, want 1; and more waits: %t", what, got, b.waits())
			}
		}
	}
}
