package limit_test

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A bucket is one position on its line, kept by the caller; a decision takes it and gives the next.
func ExampleRule_Decide() {
	rule, err := limit.Limit{
		Name:     "login",
		Capacity: 3,
		Refill:   limit.Refill{Tokens: 1, Per: time.Minute},
	}.Rule()
	if err != nil {
		fmt.Println(err)
		return
	}
	var bucket limit.Pos // never used: full
	start := time.Date(2027, time.January, 1, 12, 0, 0, 0, time.UTC)
	for _, second := range []int{0, 1, 2, 3, 60, 61} {
		now := start.Add(time.Duration(second) * time.Second).UnixNano()
		end := rule.End(bucket, now, rule.Length(1))
		var allowed bool
		bucket, allowed = rule.Decide(bucket, now, 1)
		outcome := rule.Outcome(bucket, now, 1, end, allowed)
		fmt.Printf("after %2d s: allowed %-5v remaining %d, retry after %v\n", second, allowed, outcome.Remaining, outcome.RetryAfter)
	}
	// Output:
	// after  0 s: allowed true  remaining 2, retry after 0s
	// after  1 s: allowed true  remaining 1, retry after 0s
	// after  2 s: allowed true  remaining 0, retry after 0s
	// after  3 s: allowed false remaining 0, retry after 57s
	// after 60 s: allowed true  remaining 0, retry after 0s
	// after 61 s: allowed false remaining 0, retry after 59s
}

func ExampleParseDocument() {
	_, err := limit.ParseDocument([]byte(`limits:
  login:
    capacity: 10
    refill: 0/s
`))
	fmt.Println(err)
	// Output:
	// line 4: limits.login.refill: 0 tokens are too few: at least 1, as in 1/1h
}

func ExampleParseRefill() {
	refill, err := limit.ParseRefill("100/60s")
	fmt.Println(refill, err)
	// Output:
	// 100/m <nil>
}
