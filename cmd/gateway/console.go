package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/jeton-dev/jeton/actor/limit"
	telling "github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/console"
	"github.com/jeton-dev/jeton/rpc/web"
)

// adminWhere says where an operator of a gateway finds a token.
const adminWhere = "one of the tokens in admin.token_file"

// newConsole makes the console, before what telling every other path. It shows the cluster without a name, or the first one.
func (e *Gateway) newConsole(other http.Handler, tokens func(string) (counts, exist bool), cookies *web.Cookies) (*console.Console, error) {
	first := e.clusters[0]
	doc := e.now.Load().doc
	c, err := console.New(console.Config{
		Self:   console.Self{Gateway: doc.Name, Cluster: true, Role: "gateway"},
		Source: asked{operators{first.client, first.field()}}, Other: other, Redis: e.RedisAddr(),
		Answer: func(d limit.Decision, key string) (int, http.Header, error) {
			return telling.Shown(d, first.limits(), key)
		},
		Tokens: tokens, Cookies: cookies, Where: adminWhere, Streams: min(console.MostStreams, adminPerAddress/2), Registerer: e.metrics, Logger: e.cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	e.closers.Add(func(context.Context) error { c.Stop(); return nil })
	return c, nil
}

// An asked is a cluster as its nodes tell of it to a gateway.
type asked struct{ operators }

// Look implements [console.Source].
func (a asked) Look(ctx context.Context) (look activity.Look, err error) {
	text, err := a.Activity(ctx)
	if err != nil {
		return look, a.needsToken(err)
	}
	err = a.read(text, &look)
	return look, err
}

// Keys implements [console.Source].
func (a asked) Keys(ctx context.Context, q activity.KeysAsked) (found activity.KeysFound, err error) {
	text, err := a.operators.Keys(ctx, client.KeysAsked{Prefix: q.Prefix, Limit: q.Limit, Most: q.Most})
	if err != nil {
		return found, a.needsToken(err)
	}
	err = a.read(text, &found)
	return found, err
}

// read reads what a node has answered.
func (asked) read(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("the nodes speak another version of jeton: %w", err)
	}
	return nil
}
