package clustertests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

const threeGatewaysLimits = "limits: {api: {capacity: 3, refill: 1/s, on_unavailable: deny}}"

// The document of each gateway: who is limited stands in a header, and a request waits for its decision as long as its
// client would.
const threeGatewaysDocument = `
cluster: {servers: [SERVERS], decide_within: 500ms}
admin: {listen: ADMIN}
proxy: {listen: PROXY, upstreams: {application: {urls: [http://APPLICATION]}}}
routes:
- {name: all, path: /, checks: [{key: ["user:{header.X-User}"], limits: [api]}]}
`

// Three gateways ask one cluster of which an owner is killed, another one frozen, and at last every node restarted. Seen
// from outside, with nothing but the answers of HTTP, no client is over its limit; and no request fails but as the limit
// says: 503 where no decision could be had in time.
func TestEventThreeGateways(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, 3, threeGatewaysLimits)
	asked := &throughGateways{t: t, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: deadline}}
	t.Cleanup(asked.client.CloseIdleConnections)
	for i := range asked.gateways {
		asked.gateways[i].address = s.startWith(threeGatewaysDocument).proxy
	}
	d := &drill{T: t, cluster: s.cluster, perSecond: 2 * calmPerSecond, keys: 2 * calmKeys, checker: asked}
	d.begin()
	c := s.cluster.Members
	c[1].Kill()
	d.load.Answered(2 * d.perSecond)
	c[1].Launch()
	c[1].Ready()
	c[0].Freeze()
	d.pass(lasting(2*time.Second, 10*time.Second))
	c[0].Thaw()
	c[0].Ready()
	d.load.Answered(d.perSecond)
	for _, m := range c {
		m.Restart()
		d.load.Answered(d.perSecond / 2)
	}
	d.pass(lasting(0, 20*time.Second))
	for i := range asked.gateways {
		g := &asked.gateways[i]
		g.row.Store(0)
		d.until("all requests through "+g.address+" are decided again", func() bool { return g.row.Load() > int64(calmPerSecond) })
	}
	d.end(true)
	t.Logf("of %d requests %d were answered 503 for want of a decision", asked.answered.Load(), asked.undecided.Load())
}

// throughGateways asks gateways in turn whether requests pass. What it says of a decision is only that.
type throughGateways struct {
	t        *testing.T
	client   *http.Client
	gateways [3]struct {
		address string
		row     atomic.Int64 // of its last requests in a row were decided
	}

	turn, answered, undecided atomic.Int64
}

// Check implements limit.Checker.
func (g *throughGateways) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	to := &g.gateways[g.turn.Add(1)%int64(len(g.gateways))]
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+to.address+"/", http.NoBody)
	if err != nil {
		return limit.Decision{}, err
	}
	req.Header.Set("X-User", r.Key)
	a, err := g.client.Do(req)
	if err != nil {
		return limit.Decision{}, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		return limit.Decision{}, err
	}
	g.answered.Add(1)
	switch {
	case a.StatusCode == http.StatusOK, a.StatusCode == http.StatusTooManyRequests:
		to.row.Add(1)
		return limit.Decision{Allowed: a.StatusCode == http.StatusOK}, nil
	case a.StatusCode == http.StatusServiceUnavailable && a.Header.Get("Content-Type") == "application/problem+json" && a.Header.Get("Retry-After") != "":
		to.row.Store(0)
		g.undecided.Add(1)
		return limit.Decision{}, fmt.Errorf("%w: %s", limit.ErrUnavailable, body)
	}
	g.t.Errorf("a gateway answers %d %v %s", a.StatusCode, a.Header, body)
	return limit.Decision{}, fmt.Errorf("status %d", a.StatusCode)
}

var _ limit.Checker = (*throughGateways)(nil)
