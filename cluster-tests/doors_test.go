package clustertests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/doorcalls"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/load"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// The limits that are stored, whose buckets several doors spend of at once; and those that clients or files of a door define, as the judge
// knows them. Of each door there are buckets that are soon empty for the rest of the test, so that what is let through while nothing is decided,
// or again after a kill, is too much.
const (
	doorsStored = `limits:
  gub.shared: {capacity: 20, refill: 10/s, on_unavailable: deny}
  gub.leased: {capacity: 150, refill: 20/s, consistency: leased, on_unavailable: deny}
  gub.slow: {capacity: 100, refill: 1/h, on_unavailable: deny}
`
	doorsDefined = `limits:
  cell: {capacity: 10, refill: 10/s}
  cell-slow: {capacity: 60, refill: 1/h}
  script: {capacity: 5, refill: 20/s}
  script-slow: {capacity: 60, refill: 1/h}
  window: {algorithm: fixed-window, limit: 10, window: 1s}
  bucket: {capacity: 10, refill: 10/s}
  day: {algorithm: fixed-window, limit: 60, window: 24h}
  sliding: {algorithm: sliding-window, limit: 10, window: 1s}
  leaky: {capacity: 10, refill: 10/s}
  leaky-slow: {capacity: 60, refill: 1/h}
`
	doorsRules = "domain: " + doorcalls.Domain + `
descriptors:
- key: window
  rate_limit: {unit: second, requests_per_unit: 10}
- key: bucket
  rate_limit: {unit: second, requests_per_unit: 10, algorithm: token-bucket}
- key: day
  rate_limit: {unit: day, requests_per_unit: 60}
`
)

const (
	doorsDocument = `
name: doors
cluster: {servers: [%s], decide_within: 1s}
admin: {listen: %q}
doors: {listen: %q, grpc: [extauthz, gubernator, rls], redis: %q, rls_config: %s}
routes:
- {name: shared, path: /gub.shared, checks: [{key: ["{header.X-Key}"], limits: [gub.shared]}]}
- {name: leased, path: /gub.leased, checks: [{key: ["{header.X-Key}"], limits: [gub.leased]}]}
- {name: slow, path: /gub.slow, checks: [{key: ["{header.X-Key}"], limits: [gub.slow]}]}
`
	doorsKeys    = 6  // of each limit
	doorsWorkers = 24 // each asks doorsPace times a second, if it is answered so fast
	doorsPace    = 100
	doorsKills   = 4 // of one node; and one of the gateway, and one of all nodes
	doorsWithin  = 2 * time.Second
	doorsCalm    = 5 * time.Second // at the end: longer than it takes most buckets to fill, and a kill to fade
)

// A doorClient asks one address in one way.
type doorClient struct {
	door, at string
	limit.Checker
}

// A doorLimit is a limit, and who asks for it.
type doorLimit struct {
	rule    *limit.Rule
	ref     limit.Ref
	clients []doorClient
}

// The doors of a cluster and of a gateway before it, under load.
type besieged struct {
	*testing.T

	cluster *process.Cluster
	gateway *process.Gateway
	limits  []*doorLimit
	ended   atomic.Int64 // calls

	mu       sync.Mutex
	seen     history.History
	tally    map[string]int // calls, by limit, door and outcome
	surprise map[string]int // errors that a door must not answer
}

// Every door under kill -9: of owners, of the gateway that is a door, and of all nodes at once. What clients of each protocol were let do is
// in the bound of its limit, also where several protocols spend of one bucket; and every door answers again in the end.
func TestDoorsKilled(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	b := besiege(t)
	stop := b.ask(seed)
	b.until(1000)
	faults := []func(*rand.Rand){b.killGateway, b.killAll}
	for range doorsKills {
		faults = append(faults, b.killOne)
	}
	random.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	for _, fault := range faults {
		fault(random)
		b.until(1000 + random.IntN(1000))
	}
	healed := time.Now()
	b.fault(healed, "healed")
	b.wait(func() bool { return time.Since(healed) > doorsCalm }, func() string { return "time does not pass" })
	stop()
	b.serve()
	b.exhaust()
	b.verdict()
}

// besiege starts the cluster and the gateway, and makes the clients.
func besiege(t *testing.T) *besieged {
	t.Helper()
	rules := t.TempDir()
	if err := os.WriteFile(filepath.Join(rules, "rules.yaml"), []byte(doorsRules), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &besieged{T: t, cluster: process.NewCluster(t, process.Build(t), 3, doorsStored, "--doors", "gubernator,rls", "--rls-config", rules), tally: map[string]int{}, surprise: map[string]int{}}
	at := map[string][2]string{} // of each process: where it speaks gRPC, and Redis' protocol
	for _, m := range b.cluster.Members {
		at[m.Name] = [2]string{m.GRPC, m.Redis}
		m.Args("--listen-redis", m.Redis)
		m.Launch()
	}
	for _, m := range b.cluster.Members {
		m.Ready()
	}
	b.gateway = b.cluster.PlanGateway("gateway", filepath.Join(t.TempDir(), "gateway.yaml"))
	at["gateway"] = [2]string{loopback(t), loopback(t)}
	text := fmt.Sprintf(doorsDocument, strings.Join(b.cluster.Servers(), ", "), b.gateway.Admin, at["gateway"][0], at["gateway"][1], rules)
	if err := os.WriteFile(b.gateway.Config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.startGateway()
	b.employ(at)
	return b
}

// employ makes the clients, and gives each limit those that can ask for it.
func (b *besieged) employ(at map[string][2]string) {
	b.Helper()
	jeton, err := client.New(client.Config{Servers: b.cluster.Servers()})
	if err != nil {
		b.Fatal(err)
	}
	b.closes(jeton)
	byDoor := map[string][]doorClient{"jeton.v1": {{"jeton.v1", "all", jeton}}}
	add := func(door, at string, c limit.Checker, err error) {
		if err != nil {
			b.Fatal(err)
		}
		b.closes(c.(io.Closer))
		byDoor[door] = append(byDoor[door], doorClient{door, at, c})
	}
	for _, name := range slices.Sorted(maps.Keys(at)) {
		redis := doorcalls.NewRedis(at[name][1], "", nil)
		add("redis", name, redis, nil)
		byDoor["redis_rate"] = append(byDoor["redis_rate"], doorClient{"redis_rate", name, doorcalls.Rate{Redis: redis}})
		rls, err := doorcalls.NewRLS(at[name][0], nil)
		add("rls", name, rls, err)
		gubernator, err := doorcalls.NewGubernator(at[name][0], nil)
		add("gubernator", name, gubernator, err)
	}
	authz, err := doorcalls.NewExtAuthz(at["gateway"][0], nil)
	add("extauthz", "gateway", authz, err)

	asked := map[string][]string{
		"gub.shared": {"redis", "gubernator", "extauthz", "jeton.v1"}, "gub.leased": {"redis", "gubernator", "extauthz", "jeton.v1"}, "gub.slow": {"redis", "gubernator", "extauthz", "jeton.v1"},
		"cell": {"redis"}, "cell-slow": {"redis"}, "script": {"redis_rate"}, "script-slow": {"redis_rate"},
		"window": {"rls"}, "bucket": {"rls"}, "day": {"rls"}, "sliding": {"gubernator"}, "leaky": {"gubernator"}, "leaky-slow": {"gubernator"},
	}
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		l := &doorLimit{rule: ruleOf(b.T, name), ref: limit.Named(name)}
		if !strings.HasPrefix(name, doorcalls.StoredPrefix) {
			l.ref = limit.Inline(l.rule.Limit)
		}
		for _, d := range asked[name] {
			l.clients = append(l.clients, byDoor[d]...)
		}
		b.limits = append(b.limits, l)
		b.seen.Limits = append(b.seen.Limits, load.Limit(l.rule))
	}
}

func (b *besieged) closes(c io.Closer) {
	b.Cleanup(func() { c.Close() })
}

// ruleOf is a limit of these tests.
func ruleOf(t *testing.T, name string) *limit.Rule {
	t.Helper()
	for _, text := range []string{doorsStored, doorsDefined} {
		doc, err := limit.ParseDocument([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if rule, ok := doc.Rule(name); ok {
			return rule
		}
	}
	t.Fatalf("there is no limit %s", name)
	return nil
}

// ask begins the load. What it returns ends it.
func (b *besieged) ask(seed uint64) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	for i := range doorsWorkers {
		r := rand.New(rand.NewPCG(seed, uint64(1+i)))
		wg.Go(func() {
			tick := time.NewTicker(time.Second / doorsPace)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				l := b.limits[r.IntN(len(b.limits))]
				b.call(l, &l.clients[r.IntN(len(l.clients))], r.IntN(doorsKeys), 1+int64(r.IntN(2))) //nolint:errcheck // it is kept
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// call makes one call, and keeps what came of it. One that fails may have been charged, but it admitted nothing.
func (b *besieged) call(l *doorLimit, c *doorClient, nth int, cost int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), doorsWithin)
	defer cancel()
	if c.door == "extauthz" {
		cost = 1
	}
	call := history.Call{
		Kind: history.KindCheck, Limit: l.rule.Name, Key: l.rule.Name + "." + strconv.Itoa(nth), Cost: cost, Via: c.door + " at " + c.at,
	}
	start := time.Now()
	d, err := c.Check(ctx, limit.Request{Key: call.Key, Limits: []limit.Ref{l.ref}, Cost: cost})
	call.Start, call.End = start.UnixNano(), start.UnixNano()+int64(time.Since(start))
	load.Decided(&call, d, err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen.Calls = append(b.seen.Calls, call)
	b.tally[outcomes(l, c, call.Outcome)]++
	if _, network := errors.AsType[net.Error](err); err != nil && !network && !errors.Is(err, limit.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
		b.surprise[call.Via+": "+err.Error()]++
	}
	b.ended.Add(1)
	return err
}

// outcomes names the calls for a limit through a door that ended so.
func outcomes(l *doorLimit, c *doorClient, outcome history.Outcome) string {
	return fmt.Sprintf("%-11s through %-10s %s", l.rule.Name, c.door, outcome)
}

// until returns when so many more calls have ended.
func (b *besieged) until(n int) {
	b.Helper()
	b.wait(func() bool { return b.ended.Load() >= int64(n) }, func() string { return "calls do not end" })
	b.ended.Store(0)
}

// wait returns when it is so. Otherwise says what is wrong.
func (b *besieged) wait(so func() bool, otherwise func() string) {
	b.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(process.Patience); !so(); <-tick.C {
		if time.Now().After(end) {
			b.Fatal("after minutes: ", otherwise())
		}
	}
}

// fault notes what was done since a time.
func (b *besieged) fault(since time.Time, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := history.Fault{Start: since.UnixNano(), End: time.Now().UnixNano(), What: what}
	b.seen.Faults = append(b.seen.Faults, f)
	if began := b.seen.Calls[0].Start; !f.Healed() {
		b.Logf("+%.1f s to +%.1f s: %s", float64(f.Start-began)/1e9, float64(f.End-began)/1e9, what)
	}
}

// kill kills nodes as kill -9 does, and starts them again under load.
func (b *besieged) kill(random *rand.Rand, nodes ...*process.Member) {
	b.Helper()
	since := time.Now()
	for _, m := range nodes {
		m.Kill()
	}
	b.until(100 + random.IntN(1500))
	for _, m := range nodes {
		m.Launch()
	}
	for _, m := range nodes {
		m.Ready()
	}
	b.fault(since, fmt.Sprintf("%d nodes are killed", len(nodes)))
}

func (b *besieged) killOne(random *rand.Rand) {
	b.kill(random, b.cluster.Members[random.IntN(len(b.cluster.Members))])
}

func (b *besieged) killAll(random *rand.Rand) { b.kill(random, b.cluster.Members...) }

// killGateway kills the gateway, with all that it holds of leased limits.
func (b *besieged) killGateway(random *rand.Rand) {
	since := time.Now()
	b.gateway.Kill()
	b.until(100 + random.IntN(1500))
	b.startGateway()
	b.fault(since, "the gateway is killed")
}

func (b *besieged) startGateway() {
	b.Helper()
	if err := b.gateway.Begin(); err != nil {
		b.Fatal(err)
	}
	b.wait(func() bool { return b.gateway.Serves(b.Context()) }, func() string { return "the gateway does not serve: " + b.gateway.Log() })
}

// serve asks at every door of every process for every limit, until each has decided.
func (b *besieged) serve() {
	b.Helper()
	n := 0
	for _, l := range b.limits {
		for i := range l.clients {
			var last error
			b.wait(func() bool { last = b.call(l, &l.clients[i], n%doorsKeys, 1); return last == nil }, func() string {
				return fmt.Sprintf("%s at %s does not decide %s: %v", l.clients[i].door, l.clients[i].at, l.rule.Name, last)
			})
			n++
		}
	}
	b.Logf("%d ways to ask have an answer", n)
}

// atOnce is how many ask together for more than a bucket refills, also where each waits long for its answer.
const atOnce = 16

// exhaust asks by every door until it has denied. How much a load asks for is a matter of how fast the machine is.
func (b *besieged) exhaust() {
	b.Helper()
	for _, l := range b.limits {
		for i := range l.clients {
			c := &l.clients[i]
			denied := func() bool {
				var asking sync.WaitGroup
				for range atOnce {
					asking.Go(func() { b.call(l, c, 0, 2) }) //nolint:errcheck // it is kept
				}
				asking.Wait()
				return b.tally[outcomes(l, c, history.Denied)] > 0
			}
			b.wait(denied, func() string {
				return fmt.Sprintf("%s at %s does not deny %s", c.door, c.at, l.rule.Name)
			})
		}
	}
}

// verdict is that of the judges.
func (b *besieged) verdict() {
	b.Helper()
	for _, line := range slices.Sorted(maps.Keys(b.tally)) {
		b.Logf("%6d of %s", b.tally[line], line)
	}
	for _, l := range b.limits {
		for i := range l.clients {
			for _, outcome := range []history.Outcome{history.Admitted, history.Denied} {
				if line := outcomes(l, &l.clients[i], outcome); b.tally[line] == 0 {
					b.Errorf("there is no call of %s: this proves nothing", line)
				}
			}
		}
	}
	for text, n := range b.surprise {
		b.Errorf("%d times %s", n, text)
	}
	judges := []string{"alive"} // how strict a bucket may be for how long after a kill is a matter of times: no judge of that
	for _, j := range history.Checkers() {
		if j.Safety {
			judges = append(judges, j.Name)
		}
	}
	results, err := history.Run(&b.seen, nodesApart, judges...)
	if err != nil {
		b.Fatal(err)
	}
	for i := range results {
		if err := results[i].Err(); err != nil {
			b.Error(err)
		}
	}
}
