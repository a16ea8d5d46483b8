package clustertests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A named check is one with an id, of a key of its own: what it is charged can be read off its bucket.
type named struct {
	key    string
	by     limit.OwnerID // the process that decided; zero for none
	again  limit.OwnerID // the one that decided what the repeat was answered with
	before int64         // what it was charged before it was repeated
	after  int64
}

// A repeater makes checks with ids, and repeats them.
type repeater struct {
	*testing.T

	client *client.Client
}

// slow refills too little to be seen.
const slow = "limits:\n  slow: {capacity: 100, refill: 1/24h}\n"

// check asks for one token of a key, and says which process decided; zero for none.
func (r *repeater) check(ctx context.Context, key string) (by limit.OwnerID) {
	d, err := r.client.Check(ctx, limit.Request{Key: key, Limits: []limit.Ref{limit.Named("slow")}, Cost: 1, ID: "once", Receipt: true})
	if err != nil || !d.Allowed {
		return by
	}
	return d.Receipts[0].Owner
}

// charged is what a key was charged.
func (r *repeater) charged(key string) int64 {
	r.Helper()
	for r.Context().Err() == nil {
		d, err := r.client.Check(r.Context(), limit.Request{Key: key, Limits: []limit.Ref{limit.Named("slow")}, Look: true})
		if err == nil {
			return d.Limits[0].Limit - d.Limits[0].Remaining
		}
	}
	return 0
}

// during makes checks from many goroutines while something happens, and then repeats each with the same id.
func (r *repeater) during(round string, happens func()) []*named {
	r.Helper()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		all  []*named
		over = make(chan struct{})
	)
	for caller := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				one := &named{key: fmt.Sprintf("%s-%d-%d", round, caller, i)}
				ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
				one.by = r.check(ctx, one.key)
				cancel()
				mu.Lock()
				all = append(all, one)
				mu.Unlock()
			}
		})
	}
	happens()
	close(over)
	wg.Wait()
	for _, one := range all {
		one.before = r.charged(one.key)
		for one.again == (limit.OwnerID{}) && r.Context().Err() == nil {
			one.again = r.check(r.Context(), one.key)
		}
		if one.after = r.charged(one.key); one.after < 1 {
			r.Errorf("%s was admitted and charged nothing", one.key)
		}
	}
	return all
}

// wantFew fails r if more checks were charged twice than the client may have hedged, on a machine that stood still.
func (r *repeater) wantFew(what string, twice, of int) {
	r.Helper()
	if twice > of/20+10 {
		r.Errorf("%s: %d of %d checks were charged twice", what, twice, of)
	}
}

// TestRepeatsWithoutFailures repeats checks with their ids through clients that begin at different nodes: none is charged twice.
func TestRepeatsWithoutFailures(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, slow)
	for _, m := range c.Members {
		cl, err := client.New(client.Config{Servers: []string{m.GRPC}})
		if err != nil {
			t.Fatal(err)
		}
		r := &repeater{t, cl}
		twice, all := 0, r.during(m.Name, func() {
			for i := range 50 {
				r.check(t.Context(), fmt.Sprint("pace-", i))
			}
		})
		for _, one := range all {
			if one.after > 1 {
				twice++
			}
		}
		r.wantFew("without a failure", twice, len(all))
		t.Logf("%d of %d checks were charged twice", twice, len(all))
		if err := cl.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRepeatsAfterAKill kills nodes at random while checks with ids are under way, and repeats them while the node is dead. It says how
// many were charged twice: only the answers of the dead are lost.
func TestRepeatsAfterAKill(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, slow)
	cl, err := client.New(client.Config{Servers: []string{c.Members[0].GRPC, c.Members[1].GRPC, c.Members[2].GRPC}})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close() //nolint:errcheck // it was only asked
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	r := &repeater{t, cl}
	var total, itself, ofDead, again, ofLiving, wrong int
	for round := range 5 {
		victim := c.Members[random.IntN(3)]
		all := r.during(fmt.Sprint("round-", round), func() {
			for i := range 20 + random.IntN(100) {
				r.check(t.Context(), fmt.Sprintf("pace-%d-%d", round, i))
			}
			victim.Kill()
			for i := range 20 {
				r.check(t.Context(), fmt.Sprintf("after-%d-%d", round, i))
			}
		})
		var none limit.OwnerID
		living := map[limit.OwnerID]bool{} // whoever answered a repeat
		for _, one := range all {
			living[one.again] = true
		}
		for _, one := range all {
			twice := one.after > max(one.before, 1)
			if one.before > 1 {
				itself++
			}
			switch {
			case one.by == none:
			case living[one.by]:
				ofLiving++
				if twice {
					wrong++
				}
			default:
				ofDead++
				if twice {
					again++
				}
			}
		}
		total += len(all)
		victim.Launch()
		victim.Ready()
	}
	r.wantFew("decided by a node that lives", wrong, ofLiving)
	r.wantFew("by the client's own second try", itself, total)
	t.Logf("%d checks, 5 kills: %d were charged twice by the client's own second try; of %d that the dead had decided, %d were charged again; "+
		"of %d that the living had decided, %d", total, itself, ofDead, again, ofLiving, wrong)
}
