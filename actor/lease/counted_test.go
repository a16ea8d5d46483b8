package lease_test

import (
	"testing"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

func counted(t *testing.T) *lease.Counted {
	t.Helper()
	rule, err := limit.Limit{Name: "l", Capacity: 100, Refill: limit.Refill{Tokens: 1, Per: 1e9}, Consistency: limit.Eventual}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	return lease.NewCounted(rule)
}

// heard is what an owner says that has so many tokens left.
func heard(left int64) limit.Outcome {
	return limit.Outcome{Name: "l", Allowed: true, Limit: 100, Remaining: left, ResetAfter: limit.Refill{Tokens: 1, Per: 1e9}.Per * 100}
}

// What was reported is not spent again because of an answer that the owner gave before it had the report, and that came after the report's.
func TestAnswersInAnotherOrder(t *testing.T) {
	c := counted(t)
	c.Heard(heard(100), start)
	for range 60 {
		c.Check(start+ms, 1)
	}
	report := c.Due(start + 1001*ms)
	if !report.Report || report.Tokens != 60 {
		t.Fatalf("%+v", report)
	}
	c.Answered(lease.Answer{Number: report.Number, Sent: start + 1001*ms, Now: start + 1050*ms, Outcome: heard(40)}, 0)
	c.Heard(heard(100), start+1002*ms) // it was asked for after the report, and decided before it
	if left := c.Left(start + 1060*ms); left > 40 {
		t.Errorf("%d are left, and 60 of 100 were admitted", left)
	}
}
