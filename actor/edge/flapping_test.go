package edge

import (
	"context"
	"testing"

	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A jump of the clock drops what is held once, though callers come that have read the clock before it.
func TestAJumpDropsOnce(t *testing.T) {
	doc, err := limit.ParseDocument([]byte("limits: {l: {capacity: 10, refill: 1/h, consistency: local}}"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(Config{Cluster: struct{ limit.Limiter }{}, Limits: func() *limit.Document { return doc }, Go: func(func(context.Context)) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	rule, _ := doc.Rule("l")
	sh, admitted := e.shardOf("k"), 0
	for i := range 40 {
		now, before := e.clock.read()
		sh.mu.Lock()
		s := e.shareLocked(sh, bucketID{"k", "l", ""}, rule, now, before+uint64(1-i%2)) // in turn after the jump, and before
		for range 20 {
			if _, v, _ := s.Check(now, 1); v == lease.Spent {
				admitted++
			}
		}
		sh.mu.Unlock()
	}
	if admitted > 20 {
		t.Errorf("%d are admitted of 10 and, after one jump, 10 more", admitted)
	}
}
