package clustertests

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

const (
	lives   = 20
	keys    = 64
	callers = 32
	// clockError is how far the node's clock may be from the test's: both read the same machine's.
	clockError = int64(time.Millisecond)
)

// A siege is a node under load that is killed again and again, and what its callers saw.
type siege struct {
	t      *testing.T
	binary string
	args   []string
	doc    *limit.Document
	rand   *rand.Rand

	mu   sync.Mutex
	seen history.History
}

func newSiege(t *testing.T, binary, limits string, args ...string) *siege {
	t.Helper()
	doc, err := limit.ParseDocument([]byte(limits))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "limits.yaml")
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &siege{
		t: t, binary: binary, doc: doc, rand: rand.New(rand.NewPCG(seed, 0)),
		args: append([]string{"--data", filepath.Join(dir, "data"), "--limits", file}, args...),
	}
	for _, rule := range doc.Rules() {
		s.seen.Limits = append(s.seen.Limits, load.Limit(rule))
	}
	return s
}

// live runs one life of the node: it is killed in the middle of the load, once its callers have been admitted some
// random number of times.
func (s *siege) live(life int) {
	s.t.Helper()
	node := process.Start(s.t, s.binary, s.args...)
	c, err := client.New(client.Config{Server: node.GRPC})
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // its server is gone
	ctx, stop := context.WithTimeout(s.t.Context(), process.Patience)
	defer stop()
	admitted := make(chan struct{})
	enough := make(chan struct{})
	var wg sync.WaitGroup
	for range callers {
		r := rand.New(rand.NewPCG(s.rand.Uint64(), 0))
		wg.Go(func() {
			for ctx.Err() == nil {
				if s.call(ctx, c, r, life) {
					select {
					case admitted <- struct{}{}:
					case <-enough:
					}
				}
			}
		})
	}
	for range 1 + s.rand.IntN(2000) {
		select {
		case <-admitted:
		case <-ctx.Done():
			s.t.Fatalf("life %d: too little was admitted in minutes; the node said:\n%s", life, node.Log())
		}
	}
	close(enough)
	node.Kill()
	stop()
	wg.Wait()
}

// call makes one check and keeps what came of it. A call that fails may have been charged, but it admitted nothing.
func (s *siege) call(ctx context.Context, c *client.Client, r *rand.Rand, life int) (admitted bool) {
	rules := s.doc.Rules()
	rule := rules[r.IntN(len(rules))]
	call := history.Call{
		Kind: history.KindCheck, Limit: rule.Name, Key: fmt.Sprintf("key:%d", r.IntN(keys)), Cost: 1 + int64(r.IntN(2)),
		Via: fmt.Sprintf("life %d", life),
	}
	call.Start = time.Now().UnixNano()
	d, err := c.Check(ctx, limit.Request{
		Key: call.Key, Limits: []limit.Ref{limit.Named(rule.Name)}, Cost: call.Cost, Look: call.Cost == 0, Receipt: true,
	})
	call.End = time.Now().UnixNano()
	load.Decided(&call, d, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Calls = append(s.seen.Calls, call)
	return call.Outcome == history.Admitted
}

// check is the verdict on all lives together.
func (s *siege) check() error {
	calls, admitted := map[string]int{}, map[string]int{}
	for _, c := range s.seen.Calls {
		calls[c.Limit]++
		if c.Outcome == history.Admitted {
			admitted[c.Limit]++
		}
	}
	for name, n := range calls {
		s.t.Logf("limit %s: %d calls, %d admitted", name, n, admitted[name])
	}
	return history.Safe(&s.seen, clockError)
}

// The first limit is always binding; the buckets of the second one hold debt for hours, so line that is forgotten at a
// kill would be spent again.
const siegeLimits = `limits:
  tight: {capacity: 5, refill: 20/s}
  deep: {capacity: 100000, refill: 1/s}
`

func TestKill9(t *testing.T) {
	t.Parallel()
	s := newSiege(t, process.Build(t), siegeLimits)
	for life := range lives {
		s.live(life)
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
}

// Without the disk a killed node cannot know what it had admitted. It must assume the worst, and come back.
func TestKill9InMemory(t *testing.T) {
	t.Parallel()
	s := newSiege(t, process.Build(t), "limits:\n  tight: {capacity: 5, refill: 20/s}\n", "--durability", "memory")
	for life := range lives {
		s.live(life)
	}
	if err := s.check(); err != nil {
		t.Error(err)
	}
}
