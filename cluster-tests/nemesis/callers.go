package nemesis

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
)

// gatewayKey is the header in which requests to gateways say their key.
const gatewayKey = "X-Key"

// How callers ask that ask gateways, and that ask doors of nodes.
const (
	throughGateway = "gateway"
	throughRedis   = "redis"
	throughRLS     = "rls"
)

// A caller asks for checks in one of the ways that there are.
type caller struct {
	name string
	limit.Checker

	rpc     *client.Client // of callers that can return and reset too
	plain   bool           // it asks for one token of one limit, and gets no receipts
	through string         // client, http, or one of those above
}

// httpChecker asks nodes over HTTP, each caller a different one first. A node that refuses the connection is passed over, as a
// load balancer does; one that is silent is not.
type httpChecker struct {
	nodes  []string // addresses
	client *http.Client
	turn   atomic.Int64
}

// Check implements limit.Checker.
func (h *httpChecker) Check(ctx context.Context, r limit.Request) (d limit.Decision, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return d, err
	}
	first := int(h.turn.Add(1))
	for i := range h.nodes {
		d, err = h.ask(ctx, h.nodes[(first+i)%len(h.nodes)], body)
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			break
		}
	}
	return d, err
}

func (h *httpChecker) ask(ctx context.Context, node string, body []byte) (d limit.Decision, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+node+"/v1/check", bytes.NewReader(body))
	if err != nil {
		return d, err
	}
	a, err := h.client.Do(r)
	if err != nil {
		return d, err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, 1<<20))
	if err != nil {
		return d, err
	}
	switch a.StatusCode {
	case http.StatusOK, http.StatusTooManyRequests:
		err = json.Unmarshal(text, &d)
		return d, err
	case http.StatusServiceUnavailable:
		return d, fmt.Errorf("%w: %s", limit.ErrUnavailable, text)
	case http.StatusGatewayTimeout:
		return d, fmt.Errorf("%w: %s", context.DeadlineExceeded, text)
	}
	return d, fmt.Errorf("%s: %s", a.Status, text)
}

// gatewayChecker asks gateways, by sending requests that they let through or not. A request is sent once: the transport may send GET again where
// a connection ends, and a check would be made twice.
type gatewayChecker struct {
	gateways []string // addresses
	client   *http.Client
	turn     atomic.Int64
}

// Check implements limit.Checker.
func (g *gatewayChecker) Check(ctx context.Context, r limit.Request) (d limit.Decision, err error) {
	gateway := g.gateways[int(g.turn.Add(1))%len(g.gateways)]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+gateway+"/"+r.Limits[0].Name, http.NoBody)
	if err != nil {
		return d, err
	}
	req.Header.Set(gatewayKey, r.Key)
	a, err := g.client.Do(req)
	if err != nil {
		return d, err
	}
	defer a.Body.Close()
	if _, err := io.Copy(io.Discard, a.Body); err != nil {
		return d, err
	}
	switch a.StatusCode {
	case http.StatusOK:
		return limit.Decision{Allowed: true, Limits: []limit.Outcome{{Name: r.Limits[0].Name, Allowed: true}}}, nil
	case http.StatusTooManyRequests:
		return limit.Decision{Limits: []limit.Outcome{{Name: r.Limits[0].Name}}}, nil
	case http.StatusServiceUnavailable:
		return d, limit.ErrUnavailable
	}
	return d, errors.New("the gateway answers " + a.Status)
}

// transport is that of callers over HTTP.
func transport(dial func(ctx context.Context, address string) (net.Conn, error)) *http.Transport {
	t := &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: 30 * time.Second}
	if dial != nil {
		t.DialContext = func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) }
	}
	return t
}
