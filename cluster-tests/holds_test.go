package clustertests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// Budgets of tests: of a minute and of a month, and a small one of a month, all of which streams ask for more than there is of.
const (
	minuteBudget = 100_000
	monthBudget  = 1_000_000_000
	tightBudget  = 150_000
)

// holdLimits are the limits with these budgets, and two that 500 callers attack at once. In CI, a minute has five seconds.
func holdLimits() string {
	return fmt.Sprintf(`limits:
  minute: {capacity: %d, refill: %d/%s, hold: 1m, on_expiry: free}
  month: {algorithm: fixed-window, limit: %d, per: month, hold: 1m, on_expiry: free}
  tight: {algorithm: fixed-window, limit: %d, per: month, hold: 1m, on_expiry: free, max_debt: %d}
  attacked: {capacity: 10000, refill: 1000/1m, hold: 10m}
  attackedmonth: {algorithm: fixed-window, limit: 10000, per: month, hold: 10m}
`, minuteBudget, minuteBudget, lasting(5*time.Second, time.Minute), monthBudget, tightBudget, minuteBudget)
}

// For how long streams hold their estimate: what a caller that has died holds is free after that. Those that settle hold it for longer, so
// that few expire where the machine is busy: a ledger lists 256 that have expired, and settles no others.
const (
	held     = 10 * time.Second
	heldDead = 3 * time.Second
)

// manyStreams is how many there are at once.
const manyStreams = 1000

// streams are callers that hold an estimate of what they will use, use something else, and settle that. They write down what they see.
type streams struct {
	t       *testing.T
	cluster *process.Cluster
	client  *client.Client
	ctx     context.Context //nolint:containedctx // that of the test
	key     string
	names   []string
	stop    atomic.Bool
	wg      sync.WaitGroup

	mu      sync.Mutex
	seen    []history.Call
	charges map[string]int64 // by limit, as settlements for good have answered
	taken   int              // holds
	denied  int
	settled int
	left    int // holds that were never settled
	lost    int // settlements found that the hold was lost with its owner
	late    int // and were charged less than was used, since there was no room for more
	open    int // holds that are open, as callers know
	most    int // that have been
}

// average is that of estimates: all streams together ask for a fifth more than a minute has.
const average = minuteBudget * 6 / 5 / manyStreams

// newStreams has callers ask for the limits of a key until they are ended: all of them through one client, which sends what they ask at the
// same time together.
func newStreams(t *testing.T, c *process.Cluster, key string, names ...string) *streams {
	t.Helper()
	cl, err := client.New(client.Config{Servers: c.Servers(), Connections: 1, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cl.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	s := &streams{t: t, cluster: c, client: cl, ctx: ctx, key: key, names: names, charges: map[string]int64{}}
	for range manyStreams {
		s.wg.Go(func() {
			for !s.stop.Load() && ctx.Err() == nil {
				s.stream()
			}
		})
	}
	return s
}

// stream is one request to a model: its estimate is wrong by up to a half, and it settles in parts. One in ten dies.
func (s *streams) stream() {
	estimate := int64(average/2 + rand.IntN(average))
	used := estimate/2 + rand.Int64N(estimate)
	began, dies, lasts := time.Now(), rand.IntN(10) == 0, held
	if dies {
		lasts = heldDead
	}
	h := s.hold(estimate, lasts)
	if h == nil {
		s.pause(2 * time.Second)
		return
	}
	s.count(func() {
		s.taken++
		s.open++
		s.most = max(s.most, s.open)
	})
	defer s.count(func() { s.open-- })
	s.pause(time.Second)
	if dies {
		s.count(func() { s.left++ })
		return
	}
	if rand.IntN(2) == 0 {
		_, _ = s.settle(limit.Settlement{Hold: *h, Used: used / 2, Open: true, For: held})
		s.pause(time.Second)
	}
	for s.ctx.Err() == nil {
		settled, err := s.settle(limit.Settlement{Hold: *h, Used: used})
		switch {
		case err == nil:
			s.over(used, settled, time.Since(began) > held)
			return
		case errors.Is(err, limit.ErrUnknownHold):
			s.t.Errorf("a hold of %v: %v", s.names, err)
			return
		} // otherwise it may have taken effect: what is settled again gets the same answer
	}
}

// pause waits for a random time of up to most, or until the test ends.
func (s *streams) pause(most time.Duration) { pause(s.ctx, rand.N(most)) }

// over counts a settlement for good, which charges what was used: of a line whose owner has died, at least that. A late one, whose hold may
// have been free for others since, charges less where a limit's debt has a bound.
func (s *streams) over(used int64, settled limit.Settled, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled++
	for _, l := range settled.Limits {
		s.charges[l.Name] += l.Charged
		switch {
		case l.State == limit.HoldSettled && l.Charged == used:
		case l.State == limit.HoldLost && l.Charged >= used && l.Name == "minute":
			s.lost++
		case l.State == limit.HoldSettled && l.Charged < used && late && l.Name != "month":
			s.late++
		default:
			s.t.Errorf("limit %s: %+v, want %d charged", l.Name, l, used)
		}
	}
}

func (s *streams) count(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// hold takes a hold, if it is admitted. It takes what there is where that is less.
func (s *streams) hold(estimate int64, lasts time.Duration) *limit.Hold {
	began := time.Now()
	d, err := s.client.Check(s.ctx, limit.Request{Key: s.key, Limits: refs(s.names), Cost: estimate, Least: estimate / 2, Hold: lasts})
	if err != nil {
		return nil
	}
	if !d.Allowed {
		s.count(func() { s.denied++ })
		return nil
	}
	for _, h := range d.Hold.Limits {
		s.write(history.Call{
			Kind: history.KindHold, Outcome: history.Admitted, Limit: h.Limit, Cost: d.Hold.Granted, Start: began.UnixNano(),
			Hold: &history.Hold{ID: load.HoldID(h), For: lasts.Nanoseconds()},
		}, began)
	}
	return d.Hold
}

// settle settles a hold.
func (s *streams) settle(one limit.Settlement) (limit.Settled, error) {
	began := time.Now()
	settled, err := s.client.Settle(s.ctx, one)
	for i, h := range one.Hold.Limits {
		call := history.Call{
			Kind: history.KindSettle, Outcome: history.Failed, Limit: h.Limit, Cost: one.Used, Start: began.UnixNano(),
			Hold: &history.Hold{ID: load.HoldID(h), Open: one.Open, For: one.For.Nanoseconds()},
		}
		if err == nil {
			call.Outcome, call.Hold.State, call.Hold.Charged = history.Done, string(settled.Limits[i].State), settled.Limits[i].Charged
		}
		s.write(call, began)
	}
	return settled, err
}

func (s *streams) write(c history.Call, began time.Time) {
	c.Key, c.End = s.key, c.Start+int64(time.Since(began))
	s.count(func() { s.seen = append(s.seen, c) })
}

// pause waits for a time, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func refs(names []string) (all []limit.Ref) {
	for _, name := range names {
		all = append(all, limit.Named(name))
	}
	return all
}

// last lets the streams go on for a time, and until there were many, more than there is for, and some that died.
func (s *streams) last(d time.Duration) {
	pause(s.ctx, d)
	for few := true; few && s.ctx.Err() == nil; pause(s.ctx, 10*time.Millisecond) {
		s.count(func() { few = s.taken < manyStreams || s.denied == 0 || s.left == 0 })
	}
}

// has is what a bucket has left, less what it is overdrawn by, once that is so many, or what it has after minutes.
func (s *streams) has(name string, want int64) int64 {
	s.t.Helper()
	var in struct {
		Tokens int64 `json:"tokens"`
		Debt   int64 `json:"debt"`
	}
	for end := time.Now().Add(process.Patience); ; pause(s.ctx, 50*time.Millisecond) {
		in.Debt = 0 // none is left out
		if s.page(s.cluster.Members[0], name, &in); in.Tokens-in.Debt == want || time.Now().After(end) {
			return in.Tokens - in.Debt
		}
	}
}

// end ends the callers, and has what they saw judged: at no moment more was in use than the budget, and its debt.
func (s *streams) end() {
	s.t.Helper()
	s.stop.Store(true)
	s.wg.Wait()
	s.t.Logf("%d holds, up to %d at once, %d denied; %d settled, %d never, %d lost with their owner, %d too late for all of it; tokens charged: %v",
		s.taken, s.most, s.denied, s.settled, s.left, s.lost, s.late, s.charges)
	h := &history.History{Calls: s.seen}
	doc, err := limit.ParseDocument([]byte(holdLimits()))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, name := range s.names {
		rule, _ := doc.Rule(name)
		one := load.Limit(rule)
		if rule.Per != "" { // a history has no calendar: all of this is in one month, or in no more than two
			one.Length = int64(365 * 24 * time.Hour)
		}
		h.Limits = append(h.Limits, one)
	}
	if err := history.Safe(h, nodesApart); err != nil {
		s.t.Error(err)
	}
}

// charged looks whether a budget of a month has been charged what settlements were answered, to the token: nothing is held any more, also of
// the holds that were never settled, or of which no caller knows.
func (s *streams) charged(name string, budget int64) {
	s.t.Helper()
	want := budget - s.charges[name]
	if got := s.has(name, want); got != want {
		s.t.Errorf("%d are left of %s, want %d", got, name, want)
	}
}

// ended looks whether nothing is held by inspection, at every node: at one that was the owner for a while as soon as what it holds has expired.
func (s *streams) ended() {
	s.t.Helper()
	for _, m := range s.cluster.Members {
		for _, name := range s.names {
			still := "not asked"
			for end := time.Now().Add(process.Patience); still != "" && time.Now().Before(end) && s.ctx.Err() == nil; pause(s.ctx, 50*time.Millisecond) {
				still = s.stillHeld(m, name)
			}
			if still != "" {
				s.t.Errorf("%s of %s at %s: still %s", name, s.key, m.Name, still)
			}
		}
	}
}

// stillHeld is what a node shows that is wrong when nothing is held any more.
func (s *streams) stillHeld(m *process.Member, name string) string {
	var in struct {
		Holds *struct {
			Open   int   `json:"open"`
			Tokens int64 `json:"tokens"`
		} `json:"holds"` // of a minute, none if its owner is gone, and what that held with it
	}
	switch err := s.read(m, name, &in); {
	case err != nil:
		return err.Error()
	case in.Holds == nil && name == "minute":
		return ""
	case in.Holds == nil:
		return "nothing of holds"
	case in.Holds.Open != 0 || in.Holds.Tokens != 0:
		return fmt.Sprintf("%d holds, of %d tokens", in.Holds.Open, in.Holds.Tokens)
	}
	return ""
}

// page is what a node shows of a bucket, as soon as it does.
func (s *streams) page(m *process.Member, name string, into any) {
	s.t.Helper()
	var err error
	for end := time.Now().Add(process.Patience); time.Now().Before(end) && s.ctx.Err() == nil; pause(s.ctx, 50*time.Millisecond) {
		if err = s.read(m, name, into); err == nil {
			return
		}
	}
	s.t.Fatalf("%s shows no %s of %s: %v", m.Name, name, s.key, err)
}

func (s *streams) read(m *process.Member, name string, into any) error {
	r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "http://"+m.HTTP+"/debug/buckets/"+name+"/"+s.key+"?format=json", http.NoBody)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return errors.New(a.Status)
	}
	return json.NewDecoder(a.Body).Decode(into)
}

// TestEventHolds are 1,000 streams against the budgets of a minute and of a month, by estimates that are wrong by up to a half: without
// failures what is charged is what was used, and with an owner killed every two seconds never more is in use than there is.
func TestEventHolds(t *testing.T) {
	binary := process.Build(t)
	t.Run("exact", func(t *testing.T) { // one node: of several, another one may act for one that has no processor for a while
		s := newStreams(t, process.StartCluster(t, binary, 1, holdLimits()), "org:exact", "minute", "month")
		s.last(lasting(4*time.Second, 2*time.Minute))
		s.end()
		s.charged("month", monthBudget)
		if s.lost != 0 {
			t.Errorf("%d holds are lost, and no owner has died", s.lost)
		}
		if got := s.has("minute", minuteBudget); got != minuteBudget {
			t.Errorf("%d are left of the minute, want a full bucket again", got)
		}
		s.ended()
	})
	c := process.StartCluster(t, binary, 3, holdLimits())
	t.Run("a month that ends early", func(t *testing.T) {
		s := newStreams(t, c, "org:tight", "tight")
		s.last(lasting(3*time.Second, time.Minute))
		s.end()
		s.charged("tight", tightBudget)
		s.ended()
	})
	for _, name := range []string{"attacked", "attackedmonth"} {
		t.Run(name, func(t *testing.T) { attack(t, c, name) })
	}
	t.Run("owners are killed", func(t *testing.T) {
		s := newStreams(t, c, "org:killed", "minute", "month")
		kill(s, lasting(6*time.Second, 2*time.Minute))
		s.last(0)
		s.end()
		s.charged("month", monthBudget)
		s.ended()
	})
}

// kill kills a node every two seconds: often the owner of the key, and it is back before the next one.
func kill(s *streams, lasting time.Duration) {
	s.t.Helper()
	for end := time.Now().Add(lasting); time.Now().Before(end) && s.ctx.Err() == nil; {
		next := time.After(2 * time.Second)
		m := s.owner()
		m.Kill()
		pause(s.ctx, 500*time.Millisecond)
		m.Launch()
		m.Ready()
		<-next
	}
}

// owner is the node that decides for the key, as some node says; one by chance if none does.
func (s *streams) owner() *process.Member {
	var in struct {
		Node string `json:"node"`
	}
	for _, m := range s.cluster.Members {
		if err := s.read(m, s.names[0], &in); err != nil {
			continue
		}
		for _, o := range s.cluster.Members {
			if o.Name == in.Node {
				return o
			}
		}
	}
	return s.cluster.Members[rand.IntN(len(s.cluster.Members))]
}

// attack sends 500 holds of 1,000 tokens at once to a budget of 10,000: no more than ten may pass.
func attack(t *testing.T, c *process.Cluster, name string) {
	t.Helper()
	cl, err := client.New(client.Config{Servers: c.Servers(), Connections: 1, Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close() //nolint:errcheck // nothing is asked any more
	var wg sync.WaitGroup
	passed := atomic.Int64{}
	for range 500 {
		wg.Go(func() {
			d, err := cl.Check(t.Context(), limit.Request{Key: "org:attack", Limits: refs([]string{name}), Cost: 1000, Hold: time.Minute})
			if err == nil && d.Allowed {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	if n := passed.Load(); n == 0 || n > 10 {
		t.Errorf("%d of 500 passed that hold 1,000 tokens each of 10,000", n)
	}
}
