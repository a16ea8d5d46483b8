package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
)

// An httpBed is the processes that are measured: two ways through a proxy to the same upstream, two that answer whether
// a request may pass, and one that denies all, as the gateway does at another path.
//
//	generator ─┬─ gateway ────┬─ upstream        generator ─┬─ gateway
//	           │     └─ nodes │                             │     └─ nodes
//	           └─ bare proxy ─┘                             └─ bare answer
type httpBed struct {
	HTTPing

	folder                                      string
	upstream, bareProxy, bareAnswer, bareDenial httpServer
	cluster                                     runningCluster
	gateway                                     runningGateway
}

// An httpServer is a child that [ServeHTTP] runs in.
type httpServer struct {
	*child
	address string
}

// A runningGateway is a child that is a gateway.
type runningGateway struct {
	*child
	proxy, forwardAuth, admin string // addresses
}

// How a server of HTTP, and a gateway, says that it serves, and where.
var (
	servingHTTP    = regexp.MustCompile(`msg=serving .*http=(\S+)`)
	servingGateway = regexp.MustCompile(`msg=serving .*proxy=(\S+) .*forward_auth=(\S+) admin=(\S+)`)
)

// start starts everything. What it has started is to be stopped even after an error.
func (b *httpBed) start(ctx context.Context) (err error) {
	if b.upstream, err = b.startHTTP(ctx, Upstream); err != nil {
		return err
	}
	if b.bareProxy, err = b.startHTTP(ctx, BareProxy, "--upstream", "http://"+b.upstream.address); err != nil {
		return err
	}
	if b.bareAnswer, err = b.startHTTP(ctx, BareAnswer); err != nil {
		return err
	}
	if b.bareDenial, err = b.startHTTP(ctx, BareDenial); err != nil {
		return err
	}
	if b.cluster, err = b.startCluster(ctx, b.folder, b.Nodes, durabilityOfHTTP); err != nil {
		return err
	}
	b.say("starting a gateway")
	if b.gateway, err = b.startGateway(ctx); err != nil {
		return err
	}
	return b.look(ctx)
}

// stop ends all that was started.
func (b *httpBed) stop() { b.children().stop() }

// children are all processes that were started.
func (b *httpBed) children() children {
	all := children{b.gateway.child, b.bareProxy.child, b.bareAnswer.child, b.bareDenial.child, b.upstream.child}
	return append(slices.DeleteFunc(all, func(c *child) bool { return c == nil }), b.cluster.children()...)
}

// startHTTP starts a server that limits nothing.
func (s *Setup) startHTTP(ctx context.Context, role string, flags ...string) (httpServer, error) {
	args := append([]string{"http-server", "--role", role}, flags...)
	c, found, err := start(ctx, "the "+role, servingHTTP, s.Self, args...)
	if err != nil {
		return httpServer{}, err
	}
	return httpServer{child: c, address: found[1]}, nil
}

// startGateway starts a gateway in front of the upstream that asks the cluster.
func (b *httpBed) startGateway(ctx context.Context) (runningGateway, error) {
	path, err := b.writeGatewayFile()
	if err != nil {
		return runningGateway{}, err
	}
	return b.startGatewayOf(ctx, path)
}

// startGatewayOf starts a gateway with that document.
func (s *Setup) startGatewayOf(ctx context.Context, path string) (runningGateway, error) {
	c, found, err := s.startJeton(ctx, "the gateway", servingGateway, "gateway", "--config", path)
	if err != nil {
		return runningGateway{}, err
	}
	return runningGateway{child: c, proxy: found[1], forwardAuth: found[2], admin: found[3]}, nil
}

// proxySides are the ways through both proxies. The upstream's processor time counts for the way that is being measured.
func (b *httpBed) proxySides() [2]httpSide {
	upstream := part{"upstream", children{b.upstream.child}}
	return [2]httpSide{
		newHTTPSide("gateway", b.proxied(b.gateway.proxy), append(b.deciders(), upstream)),
		newHTTPSide("bare proxy", b.proxied(b.bareProxy.address), parts{{"bare proxy", children{b.bareProxy.child}}, upstream}),
	}
}

// authSides are those that answer whether a request may pass.
func (b *httpBed) authSides() [2]httpSide {
	bare := b.asked(b.bareAnswer.address)
	bare.status = http.StatusNoContent
	return [2]httpSide{
		newHTTPSide("gateway", b.asked(b.gateway.forwardAuth), b.deciders()),
		newHTTPSide("bare answer", bare, parts{{"bare answer", children{b.bareAnswer.child}}}),
	}
}

// floodSides are those that answer 429.
func (b *httpBed) floodSides() [2]httpSide {
	return [2]httpSide{
		newHTTPSide("gateway", b.denied(b.gateway.proxy), b.deciders()),
		newHTTPSide("bare denial", b.denied(b.bareDenial.address), parts{{"bare denial", children{b.bareDenial.child}}}),
	}
}

// exhaust makes the first request of each client of a flood, which passes.
func (b *httpBed) exhaust(ctx context.Context, l Load) error {
	keys, err := newKeySpace(l)
	if err != nil {
		return err
	}
	first := b.denied(b.gateway.proxy)
	for _, key := range keys.keys {
		c := &httpCaller{target: first}
		status, body, err := c.exchange(ctx, key)
		if c.conn != nil {
			c.conn.Close() //nolint:errcheck // the answer was read
		}
		if err != nil || status != http.StatusOK && status != first.status {
			return errors.Join(fmt.Errorf("the first request of a client: %d %s", status, body), err)
		}
	}
	return nil
}

// A decidedCount is how many checks of a gateway were decided: all, and those that a node was asked.
type decidedCount struct{ all, asked float64 }

// decided counts the checks of a gateway that were decided.
func (g *runningGateway) decided(ctx context.Context) (n decidedCount, err error) {
	for _, source := range []string{"cluster", "edge", "known"} {
		v, err := metricAt(ctx, g.admin, fmt.Sprintf("jeton_fallback_checks_total{source=%q}", source))
		if err != nil {
			return n, err
		}
		if n.all += v; source == "cluster" {
			n.asked = v
		}
	}
	return n, nil
}

// deciders are the gateway and the nodes.
func (b *httpBed) deciders() parts {
	return parts{{"gateway", children{b.gateway.child}}, {"nodes", b.cluster.children()}}
}

// proxied is a small request of an API client, as a proxy gets it.
func (b *httpBed) proxied(address string) httpTarget {
	return httpTarget{address: address, status: http.StatusOK, head: "GET /v1/things/0193f1c2?expand=price HTTP/1.1\r\n" +
		"Host: api.example.com\r\nUser-Agent: jeton-bench\r\nAccept: application/json\r\n" + b.clientHeader() + ": "}
}

// denied is a small request that is denied.
func (b *httpBed) denied(address string) httpTarget {
	return httpTarget{address: address, status: http.StatusTooManyRequests, head: "GET " + shutPath + " HTTP/1.1\r\n" +
		"Host: api.example.com\r\nUser-Agent: jeton-bench\r\nAccept: application/json\r\n" + b.clientHeader() + ": "}
}

// asked is what another proxy asks about that request.
func (b *httpBed) asked(address string) httpTarget {
	return httpTarget{address: address, status: http.StatusOK, head: "GET /auth HTTP/1.1\r\n" +
		"Host: " + address + "\r\nUser-Agent: jeton-bench\r\nAccept: application/json\r\n" +
		"X-Forwarded-Method: GET\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: api.example.com\r\n" +
		"X-Forwarded-Uri: /v1/things/0193f1c2?expand=price\r\nX-Forwarded-For: 192.0.2.7\r\n" + b.clientHeader() + ": "}
}

// look asks each process once, and makes sure that the gateway tells of a limit, and that no other does: otherwise what is
// measured is something else.
func (b *httpBed) look(ctx context.Context) error {
	keys, err := newKeySpace(b.load(1))
	if err != nil {
		return err
	}
	targets := map[string]httpTarget{
		"the gateway's proxy":        b.proxied(b.gateway.proxy),
		"the gateway's forward-auth": b.asked(b.gateway.forwardAuth),
		"the bare proxy":             b.proxied(b.bareProxy.address),
	}
	for name, target := range targets {
		limited, err := target.limited(ctx, keys.keys[0])
		if err == nil && limited != (target.address != b.bareProxy.address) {
			err = fmt.Errorf("it tells of a limit: %t", limited)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", name, err), b.children().alive())
		}
	}
	return nil
}

// limited asks once, and says whether the answer, which has the status that it is to have, tells of a limit.
func (h httpTarget) limited(ctx context.Context, key string) (bool, error) {
	conn, err := (&net.Dialer{Timeout: reachWithin}).DialContext(ctx, "tcp", h.address)
	if err != nil {
		return false, err
	}
	defer conn.Close()                                         //nolint:errcheck // the answer was read
	release := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // likewise
	defer release()
	if _, err := conn.Write([]byte(h.head + key + "\r\n\r\n")); err != nil {
		return false, err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != h.status {
		return false, fmt.Errorf("it answers %s, not %d", answer.Status, h.status)
	}
	return answer.Header.Get("RateLimit") != "", nil
}
