package clustertests

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/ring/cluster/message"
	"github.com/jeton-dev/jeton/ring/level"
	"github.com/jeton-dev/jeton/rpc/client"
)

// upgradeLimits are those of the usual load, and four that others ask for besides: through a gateway, with holds, and of another algorithm.
const upgradeLimits = `limits:
  api: {capacity: 3, refill: 1/s}
  slow: {capacity: 10, refill: 1/h}
  gate: {capacity: 20, refill: 1/1h, on_unavailable: deny}
  held: {algorithm: fixed-window, limit: 50, per: year, hold: 1m, on_expiry: free}
  pool: {capacity: 50, refill: 1/h, hold: 1m, on_expiry: free}
  calls: {algorithm: sliding-log, limit: 20, window: 1h}
`

// upgradeDocument is of a gateway that refuses what is not decided.
const upgradeDocument = `
cluster: {servers: [%s], decide_within: 10s}
admin: {listen: %q}
proxy: {listen: %q, upstreams: {application: {urls: [%s]}}}
routes: [{name: all, path: /, checks: [{key: ["{header.X-Key}"], limits: [gate]}]}]
`

// An upgrade is a cluster under load whose nodes are of the previous level and of this one.
type upgrade struct {
	*drill

	old, now string // the binaries
	limits   string // the document that the admin writes bring
	others   *others
	table    strings.Builder
}

// TestUpgrade founds a cluster of the previous level, starts its nodes one after the other with this level's binary, goes back before all
// are replaced, then goes all the way, and raises the level. The file cluster-tests/previous names the previous level's commit. In every mix
// operators write, and a node of each level is killed; a gateway of the previous level asks all the time. No check fails, and no limit is
// exceeded. -args -report appends the table to a file.
func TestUpgrade(t *testing.T) {
	u := &upgrade{old: process.BuildPrevious(t), now: process.Build(t), limits: filepath.Join(t.TempDir(), "limits.yaml")}
	c := process.StartCluster(t, u.old, 3, upgradeLimits)
	u.drill = &drill{T: t, cluster: c, perSecond: calmPerSecond, keys: calmKeys}
	u.others = newOthers(t, c)
	u.table.WriteString("| nodes | what was done | checks | failed | over |\n|---|---|--:|--:|--:|\n")
	nodes := c.Members

	u.row("limits and overrides written at each node", u.operate)
	u.replace(nodes[0], u.now)
	u.mixed()
	u.refuses(nodes[0], "cluster", "upgrade", "--to", strconv.Itoa(level.Known().Newest))
	u.replace(nodes[1], u.now)
	u.mixed()
	u.refuses(nodes[0], "cluster", "upgrade", "--to", strconv.Itoa(level.Known().Newest))
	u.replace(nodes[1], u.old)
	u.replace(nodes[0], u.old)
	for _, m := range nodes {
		u.replace(m, u.now)
	}
	u.raise()
	u.report()
}

// raise raises the level. From then on the previous level's binary refuses a disk, and touches nothing.
func (u *upgrade) raise() {
	u.Helper()
	first, last, known := u.cluster.Members[0], u.cluster.Members[2], level.Known()
	u.row("`jeton cluster upgrade`", func() {
		if out := u.run(first, "cluster", "upgrade"); !strings.Contains(out, fmt.Sprintf("raised from level %d to %d", known.Oldest, known.Newest)) {
			u.Errorf("the level is raised: %s", out)
		}
		u.until("every node knows that", func() bool {
			for _, m := range u.cluster.Members {
				var s struct{ Level int }
				u.cluster.Status(m, &s)
				if s.Level != known.Newest {
					return false
				}
			}
			return true
		})
	})
	u.row(last.Name+" started with the binary before, which refuses its disk, and with this one", func() {
		if code := last.Stop(); code != 0 {
			u.Fatalf("%s: exit code %d: %s", last.Name, code, last.Log())
		}
		last.Binary = u.old
		last.Launch()
		<-last.Exited()
		if !strings.Contains(last.Log(), "the data directory is of a newer format") {
			u.Errorf("it ends with %s", last.Log())
		}
		last.Binary = u.now
		last.Launch()
		last.Ready()
	})
	u.killed(first)
}

// row does something under load, and adds what became of it to the table.
func (u *upgrade) row(what string, do func()) {
	u.Helper()
	pair := u.versions()
	u.begin()
	do()
	u.load.Answered(u.perSecond)
	if after := u.versions(); after != pair {
		pair += " → " + after
	}
	u.pause(false)
	asked, failed, over := u.others.tell()
	for _, why := range failed {
		u.Errorf("%s, %s: %s", pair, what, why)
	}
	if err := history.Safe(&u.seen, nodesApart); err != nil {
		over++
		u.Errorf("%s, %s: a limit did not hold: %v", pair, what, err)
	}
	fmt.Fprintf(&u.table, "| %s | %s | %d | %d | %d |\n", pair, what, len(u.load.Calls())+asked, len(u.load.Failures())+len(failed), over)
}

// versions says how many nodes are of the previous level, and how many of this one.
func (u *upgrade) versions() string {
	older := 0
	for _, m := range u.cluster.Members {
		if m.Binary == u.old {
			older++
		}
	}
	return fmt.Sprintf("%d + %d", older, len(u.cluster.Members)-older)
}

// replace stops a node in good order and starts it with another binary.
func (u *upgrade) replace(m *process.Member, binary string) {
	u.Helper()
	what := " restarted with the binary before"
	if binary == u.now {
		what = " restarted with this binary"
	}
	u.row(m.Name+what, func() {
		if code := m.Stop(); code != 0 {
			u.Fatalf("%s: exit code %d: %s", m.Name, code, m.Log())
		}
		m.Binary = binary
		m.Launch()
		m.Ready()
	})
}

// mixed has operators write, and kills each node in turn.
func (u *upgrade) mixed() {
	u.Helper()
	u.row("limits and overrides written at each node", u.operate)
	for _, m := range []*process.Member{u.cluster.Members[0], u.cluster.Members[2]} { // one of each level, where there are two
		u.killed(m)
	}
}

// killed kills a node, and starts it again.
func (u *upgrade) killed(m *process.Member) {
	u.Helper()
	u.row("kill -9 of "+m.Name, func() {
		m.Kill()
		u.load.Answered(u.perSecond)
		m.Launch()
		m.Ready()
	})
}

// operate has each node take what operators write, and finds that the next one knows it.
func (u *upgrade) operate() {
	u.Helper()
	for i, m := range u.cluster.Members {
		next := u.cluster.Members[(i+1)%3]
		capacity := 100 + u.table.Len() + i // another one each time
		text := upgradeLimits + fmt.Sprintf("  mixed: {capacity: %d, refill: 1/s}\n", capacity)
		if err := os.WriteFile(u.limits, []byte(text), 0o600); err != nil {
			u.Fatal(err)
		}
		key := fmt.Sprintf("org:%d", capacity)
		u.run(m, "limits", "apply", "-f", u.limits)
		u.run(m, "limits", "override", "set", "slow", key, "--capacity", "100")
		u.until(fmt.Sprintf("%s knows what %s took", next.Name, m.Name), func() bool {
			return strings.Contains(u.run(next, "limits", "get"), fmt.Sprint("capacity: ", capacity)) &&
				strings.Contains(u.run(next, "limits", "override", "list"), key)
		})
	}
	u.run(u.cluster.Members[2], "cluster", "drain", "node-3", "--undo") // three nodes keep three replicas: none can be drained
	u.settled(u.cluster.Members[1], 3)
}

// run runs a verb of a node's own version at it, and returns what it prints.
func (u *upgrade) run(m *process.Member, args ...string) string {
	u.Helper()
	out, errs, code := u.cluster.Run(m, args...)
	if code != 0 {
		u.Fatalf("%s: jeton %v: exit code %d: %s%s", m.Name, args, code, out, errs)
	}
	return out
}

// refuses has a verb be refused at a node, because of the level.
func (u *upgrade) refuses(m *process.Member, args ...string) {
	u.Helper()
	out, errs, code := u.cluster.Run(m, args...)
	if code == 0 || !strings.Contains(errs, "level") {
		u.Errorf("%s: jeton %v: exit code %d: %s%s", m.Name, args, code, out, errs)
	}
}

// report logs the table, and appends it to the file that -report names.
func (u *upgrade) report() {
	u.Helper()
	u.Log("\n" + u.table.String())
	if *nemesisReport == "" {
		return
	}
	f, err := os.OpenFile(*nemesisReport, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		u.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // WriteString's error tells
	if _, err := f.WriteString(u.table.String()); err != nil {
		u.Fatal(err)
	}
}

// Others ask beside the load, one after the other: through a gateway, for holds, and for another algorithm. They count what they spend of
// limits that give nothing back within the test.
type others struct {
	t       *testing.T
	client  *client.Client
	gateway string // where its proxy is

	mu     sync.Mutex
	asked  int
	failed []string
	spent  map[string]int64 // by limit and key
}

// spendable is how much there is of each limit that others ask for: none gives anything back within the test.
var spendable = map[string]int64{"gate": 20, "held": 50, "pool": 50, "calls": 20}

// newOthers starts them, with a gateway of the cluster's own binary. They end with the test.
func newOthers(t *testing.T, c *process.Cluster) *others {
	t.Helper()
	application := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(application.Close)
	g := c.PlanGateway("edge", filepath.Join(t.TempDir(), "gateway.yaml"))
	if err := os.WriteFile(g.Config, fmt.Appendf(nil, upgradeDocument, strings.Join(c.Servers(), ", "), g.Admin, g.Proxy, application.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Begin(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the gateway serves", func() bool { return g.Serves(t.Context()) })
	o := &others{t: t, gateway: g.Proxy, spent: map[string]int64{}}
	var err error
	if o.client, err = client.New(client.Config{Servers: c.Servers(), Timeout: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		wait.Wait()
		_ = o.client.Close()
	})
	for name, ask := range map[string]func(context.Context, string) (int64, error){"gate": o.pass, "held": o.hold("held"), "pool": o.hold("pool"), "calls": o.check} {
		wait.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				o.ask(ctx, name, fmt.Sprintf("other:%d", i%40), ask)
				_, _ = message.Pause(ctx, 20*time.Millisecond, nil)
			}
		})
	}
	return o
}

// ask asks once, and notes what came of it.
func (o *others) ask(ctx context.Context, name, key string, ask func(context.Context, string) (int64, error)) {
	spent, err := ask(ctx, key)
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked++
	o.spent[name+" "+key] += spent
	if err != nil {
		o.failed = append(o.failed, fmt.Sprintf("%s for %s: %v", name, key, err))
	}
}

// pass sends a request through the gateway.
func (o *others) pass(ctx context.Context, key string) (spent int64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+o.gateway+"/", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Key", key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	switch res.StatusCode {
	case http.StatusOK:
		return 1, nil
	case http.StatusTooManyRequests:
		return 0, nil
	}
	return 0, fmt.Errorf("the gateway answers %s", res.Status)
}

// hold holds four of a limit and settles one.
func (o *others) hold(name string) func(context.Context, string) (int64, error) {
	return func(ctx context.Context, key string) (spent int64, err error) {
		d, err := o.client.Check(ctx, limit.Request{Key: key, Limits: []limit.Ref{limit.Named(name)}, Cost: 4, Hold: time.Minute})
		if err != nil || !d.Allowed {
			return 0, err
		}
		s, err := o.client.Settle(ctx, limit.Settlement{Hold: *d.Hold, Used: 1})
		if err != nil {
			return 0, nil //nolint:nilerr // a hold may be lost with the owner that took it: then nothing is charged
		}
		return s.Charged, nil
	}
}

// check asks for one.
func (o *others) check(ctx context.Context, key string) (spent int64, err error) {
	d, err := o.client.Check(ctx, limit.Request{Key: key, Limits: []limit.Ref{{Name: "calls"}}, Cost: 1})
	if err != nil || !d.Allowed {
		return 0, err
	}
	return 1, nil
}

// tell says what came of what was asked since it was last called, and how many keys have spent more than there is.
func (o *others) tell() (asked int, failed []string, over int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked, failed = o.asked, o.failed
	o.asked, o.failed = 0, nil
	for of, spent := range o.spent {
		if name, key, _ := strings.Cut(of, " "); spent > spendable[name] {
			over++
			o.t.Errorf("%s has spent %d of %s, which has %d", key, spent, name, spendable[name])
		}
	}
	return asked, failed, over
}
