package gateway

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/gateway/route"
	"github.com/jeton-dev/jeton/internal/bearer"
)

// The headers of the gateway's own.
const (
	// denialHeader has the id of a denial, for a forward-auth proxy that asks with deny=403. It is not for clients.
	denialHeader = "X-Jeton-Denial"
	// decisionHeader says whether the cluster or a fallback decided, for debugging. It is sent where the document says so.
	decisionHeader = "X-Jeton-Decision"
)

// rules are a compiled document. They never change: another document makes other rules.
type rules struct {
	document             *config.Document
	maxInFlight          int64
	maxInFlightPerClient int
	table                *route.Table
	finder               *identity.Finder
	guards               []*guarded // of the clusters of the gateway, in their order
	routes               []routeRules
	other                *routeSeries // requests without a route
	failures             *failureSeries
	secrets              []string            // headers that are for the gateway alone
	ofProxies            []string            // headers that only trusted proxies may set
	keys                 *identity.Templates // of the document; nil where no key is denied
	exempt               exemptions
	denied               denials
	answer               *answer.Writer // where the route has none
	upstreams            map[string]*upstream
	maxBody              int64              // that the proxy forwards; -1 for any
	maxRead              int64              // of a body that is read whole
	bodyBounds           bodyBounds         // of all of these together
	bodyPace             bodyPace           // of bodies that it forwards
	writeTimeout         time.Duration      // of an answer that the client does not read
	authProxies          *identity.Networks // which may use forward-auth
	proxies              *identity.Networks // trusted to say where a request comes from
	challenges           challenges         // of a 401
	refusesFlaws         bool               // invalid tokens and API keys
}

// routeRules are one compiled route.
type routeRules struct {
	name     string
	checks   []check // that may deny, in their order
	shadows  []check
	answer   *answer.Writer
	upstream *upstream // nil for none
	charging charging
	llm      *llmRules // nil unless the upstream is a language model
	series   *routeSeries
}

// exemptions are the requests that no limit applies to.
type exemptions struct {
	header   string // canonical; empty when there are no tokens
	tokens   *bearer.Set
	paths    *route.Paths
	networks *identity.Networks
}

// denials are the clients whose requests are always refused.
type denials struct {
	networks *identity.Networks
	keys     map[string]bool // nil for none
}

// charging says which requests of a route give back what they took.
type charging struct {
	refund, chargeWhen []config.Status
	unsent, answered   prometheus.Counter // requests that gave back
}

// byAnswer reports whether the answer decides what a request costs.
func (c *charging) byAnswer() bool { return c.refund != nil || c.chargeWhen != nil }

// free reports whether an answer with that status costs nothing.
func (c *charging) free(status int) bool {
	covers := func(s config.Status) bool { return s.Covers(status) }
	if c.chargeWhen != nil {
		return !slices.ContainsFunc(c.chargeWhen, covers)
	}
	return slices.ContainsFunc(c.refund, covers)
}

// retire closes what next does not use any more; next is nil when the gateway is closed. Nil rules have nothing to close.
func (r *rules) retire(next *rules) {
	if r == nil {
		return
	}
	if r.finder != nil {
		r.finder.Close()
	}
	for i, guard := range r.guards {
		if next == nil || next.guards[i] != guard {
			guard.Close()
		}
	}
	for name, u := range r.upstreams {
		if next == nil || next.upstreams[name] != u {
			u.close()
		}
	}
}
