package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/gateway"
)

// A region is a model of one cluster among several.
type region struct {
	*conformance.Model

	node string
	doc  *limit.Document
	down error // what every check fails with; nil for none
	back chan string
}

// newRegion is one with these limits.
func newRegion(r *rig, node, limits string) *region {
	doc, err := limit.ParseDocument([]byte("limits: {" + limits + "}"))
	if err != nil {
		r.Fatal(err)
	}
	return &region{Model: conformance.NewModel(doc, r.nanos.Load), node: node, doc: doc, back: make(chan string, 100)}
}

// Check implements [limit.Checker].
func (g *region) Check(ctx context.Context, q limit.Request) (limit.Decision, error) {
	if g.down != nil {
		return limit.Decision{}, g.down
	}
	d, err := g.Model.Check(ctx, q)
	d.Node = g.node
	return d, err
}

// Return implements [limit.Returner].
func (g *region) Return(ctx context.Context, key string, receipts []limit.Receipt) ([]bool, error) {
	took, err := g.Model.Return(ctx, key, receipts)
	g.back <- key
	return took, err
}

func (g *region) cluster() gateway.Cluster {
	return gateway.Cluster{Checker: g, Limits: func() *limit.Document { return g.doc }}
}

// left is how many tokens a bucket has.
func (g *region) left(t *testing.T, key, name string) int64 {
	t.Helper()
	in, err := g.Inspect(t.Context(), key, limit.Named(name), "")
	if err != nil {
		t.Fatal(err)
	}
	return in.Tokens
}

// newRegions is a rig with the clusters region and global beside its own, and a document for them.
func newRegions(t *testing.T, document string) (r *rig, near, far *region) {
	t.Helper()
	r = newRig(t, "routes: []\n")
	near, far = newRegion(r, "near:7700", "day: {capacity: 4, refill: 1/h}"), newRegion(r, "far:7700", "day: {capacity: 3, refill: 1/h, on_unavailable: allow}")
	var err error
	r.gateway, err = gateway.New(gateway.Config{
		Document: r.parse(document), Checker: r, Limits: func() *limit.Document { return near.doc },
		Clusters: map[string]gateway.Cluster{"region": near.cluster(), "global": far.cluster()},
		Now:      func() time.Time { return time.Unix(0, r.nanos.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.gateway.Close)
	return r, near, far
}

const stacked = `clusters: {region: {}, global: {}}
routes: [{name: all, path: /, answer: {headers: [ratelimit]}, checks: [
  {key: ["k"], limits: [day], cluster: region}, {key: ["k"], limits: [day], cluster: global}]}]
`

// TestClustersStack asks limits of the same name of two clusters, one after the other: what the second one denies is given back to the first one,
// and the answer says whose limit denied.
func TestClustersStack(t *testing.T) {
	r, near, far := newRegions(t, stacked)
	for i := range 3 {
		if a := r.ask(request(t, http.MethodGet, "/")); a.StatusCode != http.StatusNoContent {
			t.Fatalf("request %d: %s: %s", i, a.Status, a.Body)
		}
	}
	a := r.ask(request(t, http.MethodGet, "/"))
	if a.StatusCode != http.StatusTooManyRequests || !strings.Contains(string(a.Body), "the limit global/day is exhausted") {
		t.Fatalf("beyond the global limit: %s: %s", a.Status, a.Body)
	}
	if policy := a.Header.Get("RateLimit-Policy"); !strings.Contains(policy, `"region/day";q=4`) || !strings.Contains(policy, `"global/day";q=3`) {
		t.Errorf("RateLimit-Policy: %s", policy)
	}
	select {
	case key := <-near.back:
		if key != "k" {
			t.Errorf("%q is given back", key)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing is given back to the region")
	}
	if got := near.left(t, "k", "day"); got != 1 {
		t.Errorf("the region has %d tokens left, want 1: what the planet denied is given back", got)
	}
	if got := far.left(t, "k", "day"); got != 0 {
		t.Errorf("the planet has %d tokens left", got)
	}
	select {
	case key := <-far.back:
		t.Errorf("%q is given back to the wrong cluster", key)
	default:
	}
}

// TestClusterIsDown applies the policy of the limits of the cluster that does not answer, and no other.
func TestClusterIsDown(t *testing.T) {
	r, near, far := newRegions(t, stacked)
	far.down = fmt.Errorf("%w: cut off", limit.ErrUnavailable)
	for i := range 4 {
		if got := r.get("/"); got != http.StatusNoContent {
			t.Fatalf("request %d with the planet cut off, which allows: %d", i, got)
		}
	}
	if got := r.get("/"); got != http.StatusTooManyRequests {
		t.Errorf("beyond the limit of the region, with the planet cut off: %d", got)
	}
	near.down = far.down
	r.pass(time.Hour) // denials that are known end
	near.doc, _ = limit.ParseDocument([]byte("limits: {day: {capacity: 4, refill: 1/h, on_unavailable: deny}}"))
	if got := r.get("/"); got != http.StatusServiceUnavailable {
		t.Errorf("with a region cut off that denies: %d", got)
	}
}

// TestClustersOfADocument refuses checks that ask a cluster which the gateway was not given.
func TestClustersOfADocument(t *testing.T) {
	near := newRegion(newRig(t, "routes: []\n"), "near:7700", "day: {capacity: 4, refill: 1/h}")
	r := &rig{T: t}
	document := r.parse(stacked)
	for _, c := range []struct {
		cfg  gateway.Config
		want string
	}{
		{gateway.Config{Document: document, Clusters: map[string]gateway.Cluster{"region": near.cluster()}}, `routes[0].checks[1].cluster: "global" is none that this gateway was made with: region`},
		{gateway.Config{Document: document, Clusters: map[string]gateway.Cluster{"region": near.cluster(), "global": {}}}, "a Checker and Limits"},
		{gateway.Config{Document: document}, "a Checker and Limits"},
		{gateway.Config{Document: document, Checker: near}, "a Checker and Limits"},
		{gateway.Config{Document: r.parse("clusters: {region: {}}\nroutes: [{name: all, path: /, checks: [{limits: [day]}]}]\n"), Clusters: map[string]gateway.Cluster{"region": near.cluster()}}, "routes[0].checks[0].cluster: is missing: name one of region"},
	} {
		g, err := gateway.New(c.cfg)
		if err == nil {
			g.Close()
			t.Errorf("it is taken, want an error that says %s", c.want)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error that says %s", err, c.want)
		}
	}
}

// A mute cluster answers nothing.
type mute struct{ *region }

// Check implements [limit.Checker].
func (mute) Check(ctx context.Context, _ limit.Request) (limit.Decision, error) {
	at, _ := ctx.Deadline()
	<-time.After(time.Until(at))
	return limit.Decision{}, limit.ErrUnavailable
}

// TestEachClusterHasItsTime waits for a cluster no longer than its decide_within, whatever is asked in between.
func TestEachClusterHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, "routes: []\n")
		slow, quick := newRegion(r, "slow:7700", "day: {capacity: 100, refill: 1/h}"), newRegion(r, "quick:7700", "day: {capacity: 100, refill: 1/h}")
		checks := strings.Repeat("{key: [k], limits: [day], cluster: slow}, {key: [k], limits: [day], cluster: quick}, ", 4)
		cluster := slow.cluster()
		cluster.Checker = mute{slow}
		var err error
		r.gateway, err = gateway.New(gateway.Config{
			Document: r.parse("cluster: {decide_within: 100ms}\nclusters: {slow: {}, quick: {}}\nroutes: [{name: all, path: /, checks: [" + checks + "]}]\n"),
			Clusters: map[string]gateway.Cluster{"slow": cluster, "quick": quick.cluster()},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer r.gateway.Close()
		since := time.Now()
		if got := r.get("/"); got != http.StatusNoContent {
			t.Errorf("status %d", got)
		}
		if took := time.Since(since); took > 110*time.Millisecond {
			t.Errorf("a request waits for %v", took)
		}
		if left := quick.left(t, "k", "day"); left != 96 {
			t.Errorf("%d are left at the quick cluster, want 96", left)
		}
	})
}
