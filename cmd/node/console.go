package node

import (
	"context"
	"net/http"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/internal/bound"
	"github.com/jeton-dev/jeton/rpc/console"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/web"
)

// newConsole makes the console, before what answers every other path. It ends with the HTTP server.
func (n *Node) newConsole(other http.Handler, tokens *credentials.Tokens, cookies *web.Cookies) (*console.Console, error) {
	c, err := console.New(console.Config{
		Self:   console.Self{Node: n.cfg.Name, Cluster: n.member != nil, Role: "node"},
		Source: n.activity, Other: other, Redis: n.RedisAddr(),
		Answer: func(d limit.Decision, key string) (int, http.Header, error) { return answer.Shown(d, n.Limits(), key) },
		Tokens: tokens.Counts, Cookies: cookies, Where: tokens.Where(), Streams: streams(n.bounds(httpOption)), Registerer: n.metrics, Logger: n.cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	n.opened.Add(func(context.Context) error { c.Stop(); return nil })
	return c, nil
}

// cookies are those of the console. All nodes with the same key take them.
func (n *Node) cookies() (*web.Cookies, error) {
	if n.secrets.key == nil {
		return web.NewCookies(nil)
	}
	return web.NewCookies(n.secrets.key.Cookies)
}

// streams is how many may follow the console at a listener: what one address may open besides is for checks, probes and Prometheus.
func streams(b bound.Config) int { return max(1, min(console.MostStreams, b.PerAddress/2)) }
