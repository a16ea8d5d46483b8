package edge

import (
	"context"
	"testing"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A report that waits while the clock jumps is of the edge of before, as its number is. Under the name of the edge of after, it would make that edge's numbers, of the time after the
// jump, too low to be charged.
func TestReportOverAJump(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {l: {capacity: 10, refill: 1/s, consistency: eventual}}"))
	if err != nil {
		t.Fatal(err)
	}
	rule, _ := doc.Rule("l")
	e, err := New(Config{Cluster: struct{ limit.Limiter }{}, Limits: func() *limit.Document { return doc }, Go: func(func(context.Context)) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	sh, id := e.shardOf("k"), bucketID{key: "k", limit: "l"}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	report := func() dueReport {
		now, jumps := e.clock.read()
		s := e.shareLocked(sh, id, rule, now, jumps)
		return dueReport{s.asks(), s, lease.Ask{Number: 1, Tokens: 1, Report: true}}
	}
	before := report()
	e.Jump()
	after := report()
	if before.request().Report.Edge != e.tag || after.request().Report.Edge == e.tag {
		t.Errorf("the reports of before and after the jump are of the edges %d and %d; want %d and another one", before.request().Report.Edge, after.request().Report.Edge, e.tag)
	}
}
