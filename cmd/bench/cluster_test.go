package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/cluster"
)

// A cluster is measured when nothing in it will move any more.
func TestIncomplete(t *testing.T) {
	nodes := func(kept ...int) (all []cluster.NodeStatus) {
		for _, n := range kept {
			all = append(all, cluster.NodeStatus{Replica: n})
		}
		return all
	}
	for _, tt := range []struct {
		status cluster.Status
		n      int
		want   string // empty: it is complete
	}{
		{cluster.Status{Partitions: 271, Nodes: nodes(271, 271, 271)}, 3, ""},
		{cluster.Status{Partitions: 271, Nodes: nodes(271)}, 1, ""},
		{cluster.Status{Partitions: 10, Nodes: nodes(7, 7, 6, 5, 5)}, 5, ""},
		{cluster.Status{}, 3, "0 nodes of 3"},
		{cluster.Status{Partitions: 271, Nodes: nodes(271, 0)}, 3, "2 nodes of 3"},
		{cluster.Status{Partitions: 271, Nodes: nodes(271, 0, 0)}, 3, "271 replicas of 813"},
		{cluster.Status{Partitions: 10, Nodes: nodes(10, 10, 9)}, 3, "29 replicas of 30"},
		{cluster.Status{Partitions: 10, Nodes: nodes(10, 10, 10), Moves: cluster.Progress{Left: 4, UnderWay: 1}}, 3, "4 partitions are to be moved"},
		{cluster.Status{Partitions: 10, Nodes: nodes(10, 10, 10), Moves: cluster.Progress{UnderWay: 2}}, 3, "2 are between two epochs"},
		{cluster.Status{Partitions: 10, Nodes: nodes(10, 10, 10), Moves: cluster.Progress{Phases: map[string]int{"completing": 1}}}, 3, "completing"},
		{cluster.Status{Nodes: nodes(0, 0, 0)}, 3, "0 replicas of 0"},
	} {
		err := incomplete(&tt.status, tt.n)
		if (tt.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v of %d: %v, want %q", tt.status, tt.n, err, tt.want)
		}
	}
}

// A fakeLimiter answers the checks of a batch in turn: allowed, denied, an error.
type fakeLimiter struct {
	limit.Limiter

	asked []string
}

func (f *fakeLimiter) Check(_ context.Context, r limit.Request) (limit.Decision, error) {
	f.asked = append(f.asked, r.Key)
	switch len(f.asked) % 3 {
	case 1:
		return limit.Decision{Allowed: true}, nil
	case 2:
		return limit.Decision{}, nil
	}
	return limit.Decision{}, limit.ErrUnavailable
}

func (f *fakeLimiter) CheckBatch(ctx context.Context, rs []limit.Request) []limit.Result {
	results := make([]limit.Result, len(rs))
	for i, r := range rs {
		results[i].Decision, results[i].Err = f.Check(ctx, r)
	}
	return results
}

// What the Go client answers is counted check by check, its errors by their codes.
func TestRoutedCallers(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "e", "f"}
	for _, batch := range []int{1, 3} {
		f, tally := &fakeLimiter{}, newTally()
		c := newRoutedCaller(f, Load{Limit: limitFor(false), Batch: batch})
		for from := 0; from < len(keys); from += batch {
			if !c.call(t.Context(), keys[from:from+batch], tally) {
				t.Errorf("batches of %d: a call was taken for interrupted", batch)
			}
		}
		want := Fault{Code: "Unavailable", Checks: 2, First: limit.ErrUnavailable.Error()}
		if faults := tally.sortedFaults(); tally.allowed != 2 || tally.denied != 2 || len(faults) != 1 || faults[0] != want {
			t.Errorf("batches of %d: %+v, %+v", batch, tally, faults)
		}
		if strings.Join(f.asked, "") != "abcdef" {
			t.Errorf("batches of %d: asked about %v", batch, f.asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if tally := newTally(); c.call(ctx, keys[:batch], tally) && len(tally.faults) > 0 {
			t.Errorf("batches of %d: an interruption was counted as %+v", batch, tally.sortedFaults())
		}
	}
}

func TestDialClientSaysWhoIsSilent(t *testing.T) {
	l := Load{Limit: limitFor(false)}
	if err := l.check(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := dialClient(ctx, []string{"127.0.0.1:1"}, l, nil); err == nil || !strings.Contains(err.Error(), "no answer from [127.0.0.1:1]: ") {
		t.Errorf("%v", err)
	}
	cancel()
	if _, err := dialClient(ctx, []string{"127.0.0.1:1"}, l, nil); !errors.Is(err, errInterrupted) {
		t.Errorf("%v, want %v", err, errInterrupted)
	}
}

// A comparison of nodes names both sides so that they cannot be confused.
func TestComparisonNames(t *testing.T) {
	for _, tt := range []struct {
		nodes   int
		against string
		want    string
	}{
		{1, Noop, "node ÷ noop, "},
		{1, OneNode, "node ÷ one node, "},
		{3, OneNode, "3 nodes ÷ one node, "},
		{5, Redis, "5 nodes ÷ redis, "},
	} {
		var text strings.Builder
		c := &Comparison{Nodes: tt.nodes, Against: tt.against, Pairs: []Pair{{Ratio: 0.4, P50More: time.Millisecond}}}
		c.sum()
		if err := c.Write(&text); err != nil || !strings.HasPrefix(text.String(), tt.want) {
			t.Errorf("%d against %s: %v\n%s", tt.nodes, tt.against, err, text.String())
		}
	}
}
