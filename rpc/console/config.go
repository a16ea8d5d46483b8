package console

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/web"
)

// A Source tells what a cluster does.
type Source interface {
	// Look asks all nodes.
	Look(ctx context.Context) (activity.Look, error)
	// Keys searches the keys that are in memory.
	Keys(ctx context.Context, q activity.KeysAsked) (activity.KeysFound, error)
}

// Self is the process that shows the console.
type Self struct {
	Node    string `json:"node"`              // its name; empty for a gateway
	Cluster bool   `json:"cluster"`           // it is of a cluster; else a node that is alone
	Role    string `json:"role"`              // node or gateway
	Version string `json:"version"`           // empty: that of the binary
	Gateway string `json:"gateway,omitempty"` // its name; empty for a node
}

// Config says what a [Console] is made of.
type Config struct {
	// Self is told to the page.
	Self Self
	// Source is what is shown. Required.
	Source Source
	// Answer is what a gateway answers a request whose check about a key was decided so. Required.
	Answer func(d limit.Decision, key string) (status int, header http.Header, err error)
	// Redis is the address for clients that speak Redis' protocol; empty for none.
	Redis string
	// Tokens says of a token whether it counts, and whether there are tokens at all; Cookies are those of the guard. Required.
	Tokens  func(token string) (counts, exist bool)
	Cookies *web.Cookies
	// Where says where an operator finds a token. Required.
	Where string
	// Streams is how many browsers may follow what happens at the same time; 0 is 100.
	Streams int
	// Other answers every other path, POST /v1/check among them, and GET / to programs. Required.
	Other http.Handler
	// Registerer gets the metrics; nil leaves them unregistered.
	Registerer prometheus.Registerer
	// Logger gets faults; nil discards them.
	Logger *slog.Logger
}
