package config

import (
	"cmp"
	"math"
	"os"
	"strings"
	"time"
)

// The addresses of a gateway that nothing else is said of.
const (
	DefaultServer      = "127.0.0.1:7700"
	DefaultProxy       = "127.0.0.1:7780"
	DefaultAdmin       = "127.0.0.1:7781"
	DefaultForwardAuth = "127.0.0.1:7782"
	DefaultDoors       = "127.0.0.1:7783"
)

// maxGatewayName is how many characters the name of a gateway may have.
const maxGatewayName = 32

// GatewayName is the gateway's name in lower case, or one made of the host's: lower-case letters, digits and dashes, at
// most 32, which neither begin nor end with a dash.
func (d *Document) GatewayName() string {
	if d.Name != "" {
		return strings.ToLower(d.Name)
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return nameOfHost(host)
}

// nameOfHost makes a gateway's name of the first part of a host's.
func nameOfHost(host string) string {
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	host = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, host)
	host = strings.TrimLeft(host, "-")
	host = strings.TrimRight(host[:min(len(host), maxGatewayName)], "-")
	return cmp.Or(host, "gateway")
}

// Addresses are the gRPC addresses of nodes.
func (c Cluster) Addresses() []string {
	if len(c.Servers) == 0 {
		return []string{DefaultServer}
	}
	return c.Servers
}

// Budget is how long a request may wait for its decision.
func (c Cluster) Budget() time.Duration { return c.DecideWithin.Or(50 * time.Millisecond) }

// Repeats is how long a denial is repeated at most without asking a node.
func (c Cluster) Repeats() time.Duration {
	if c.RepeatDenials == nil {
		return time.Second
	}
	return time.Duration(*c.RepeatDenials)
}

// Sharers is how many gateways share the limits that are decided locally.
func (c Cluster) Sharers() int { return cmp.Or(c.Gateways, 1) }

// MaxConcurrent is how many requests may be under way at once.
func (c Cluster) MaxConcurrent() int { return cmp.Or(c.MaxInFlight, 10_000) }

// MaxConcurrentPerClient is how many of them may be of one client.
func (c Cluster) MaxConcurrentPerClient() int {
	return cmp.Or(c.MaxInFlightPerClient, max(1, c.MaxConcurrent()/8))
}

// Address is where the proxy listens.
func (p Proxy) Address() string { return cmp.Or(p.Listen, DefaultProxy) }

// MaxHeaderBytes is how many bytes the header of a request may have.
func (p Proxy) MaxHeaderBytes() int { return cmp.Or(p.MaxHeader, 32<<10) }

// MaxBodyBytes is how many bytes the body of a request may have; -1 is any number.
func (p Proxy) MaxBodyBytes() int64 { return cmp.Or(p.MaxBody, 10<<20) }

// MaxReadBytes is how many bytes a body may have that is read whole.
func (p Proxy) MaxReadBytes() int64 {
	if most := p.MaxBodyBytes(); most >= 0 {
		return most
	}
	return 64 << 20
}

// BodyMemory is how many bytes all bodies together may take that are read whole.
func (p Proxy) BodyMemory() int64 { return cmp.Or(p.MaxBodyMemory, max(256<<20, p.MaxReadBytes())) }

// BodyMemoryPerClient is how many of them may be of one client.
func (p Proxy) BodyMemoryPerClient() int64 {
	return cmp.Or(p.MaxBodyMemoryPerClient, max(p.BodyMemory()/4, p.MaxReadBytes()))
}

// HeaderTimeout is how long a client may take to send a header.
func (p Proxy) HeaderTimeout() time.Duration { return p.HeaderWithin.Or(5 * time.Second) }

// MinBodyRate is how many bytes of a body must come in a second; -1 is any number.
func (p Proxy) MinBodyRate() int64 { return cmp.Or(p.BodyRate, 500) }

// MinBodyRate is how many bytes of a body for this upstream must come in a second, where the proxy's number is that;
// -1 is any number.
func (u Upstream) MinBodyRate(ofProxy int64) int64 { return cmp.Or(u.BodyRate, ofProxy) }

// MaxPause is how long the gateway waits for a body, besides the time that its rate gives.
func (p Proxy) MaxPause() time.Duration { return p.BodyPause.Or(time.Minute) }

// UnreadTimeout is how long a client may read nothing of an answer.
func (p Proxy) UnreadTimeout() time.Duration { return p.AnswerPause.Or(time.Minute) }

// MaxOpenConnections is how many connections may be open at once, where the process may have so many files open.
func (p Proxy) MaxOpenConnections(files int) int {
	return cmp.Or(p.MaxConnections, max(1, min(20_000, files/2)))
}

// MaxOpenConnectionsPerClient is how many of so many connections may be of one address.
func (p Proxy) MaxOpenConnectionsPerClient(all int) int {
	return cmp.Or(p.MaxConnectionsPerClient, max(1, all/8))
}

// IdleTimeout is how long a connection may rest between two requests.
func (p Proxy) IdleTimeout() time.Duration { return p.IdleWithin.Or(2 * time.Minute) }

// ConnectTimeout is how long a connection may take.
func (u Upstream) ConnectTimeout() time.Duration { return u.ConnectWithin.Or(5 * time.Second) }

// RespondTimeout is how long the upstream may take until the header of its answer.
func (u Upstream) RespondTimeout() time.Duration { return u.RespondWithin.Or(time.Minute) }

// UpstreamOf is the name of the upstream that answers what r lets through; empty when there is none.
func (d *Document) UpstreamOf(r *Route) string {
	if r.Upstream == "" && d.Proxy != nil && len(d.Proxy.Upstreams) == 1 {
		for name := range d.Proxy.Upstreams {
			return name
		}
	}
	return r.Upstream
}

// Address is where questions of proxies are listened for.
func (f ForwardAuth) Address() string { return cmp.Or(f.Listen, DefaultForwardAuth) }

// Networks are those of the proxies that may ask.
func (f ForwardAuth) Networks() []Network {
	if len(f.Trusted) == 0 {
		return loopback()
	}
	return f.Trusted
}

// Address is where doors that speak gRPC are listened for; empty for nowhere.
func (d Doors) Address() string {
	if len(d.GRPC) == 0 {
		return ""
	}
	return cmp.Or(d.Listen, DefaultDoors)
}

// Networks are those of the clients that may connect.
func (d Doors) Networks() []Network {
	if len(d.Trusted) == 0 {
		return loopback()
	}
	return d.Trusted
}

// loopback are the networks of a host with itself.
func loopback() []Network {
	v4, _ := ParseNetwork("127.0.0.0/8")
	v6, _ := ParseNetwork("::1/128")
	return []Network{v4, v6}
}

// Address is where operators look.
func (a Admin) Address() string { return cmp.Or(a.Listen, DefaultAdmin) }

// Templates are those of the keys of checks that have none of their own.
func (i Identity) Templates() []string {
	if len(i.Key) == 0 {
		return []string{"ip:{ip}"}
	}
	return i.Key
}

// Header is where trusted proxies say the client's address.
func (i Identity) Header() string { return cmp.Or(i.AddressHeader, "X-Forwarded-For") }

// IPv6Bits is how many bits of an IPv6 address tell clients apart.
func (i Identity) IPv6Bits() int { return cmp.Or(i.IPv6Prefix, 64) }

// HeaderName is where the token is.
func (j JWT) HeaderName() string { return cmp.Or(j.Header, "Authorization") }

// Skew is by how much clocks may differ.
func (j JWT) Skew() time.Duration { return j.Leeway.Or(30 * time.Second) }

// Refresh is how old keys from JWKSURL may be.
func (j JWT) Refresh() time.Duration { return j.RefreshEvery.Or(10 * time.Minute) }

// HeaderName is the header in which keys are; empty when they are in a parameter of the URL only.
func (a APIKey) HeaderName() string {
	if a.Header == "" && a.Query == "" {
		return "X-Api-Key"
	}
	return a.Header
}

// Header is where requests have an internal token.
func (e Exempt) Header() string { return cmp.Or(e.TokenHeader, "X-Internal-Token") }

// Templates are those of the check's own keys, or else those of the identity.
func (c Check) Templates(i Identity) []string {
	if len(c.Key) == 0 {
		return i.Templates()
	}
	return c.Key
}

// The values of [Identity.OnBadCredentials]; Anonymous is the default.
const (
	Anonymous = "anonymous"
	Refuse    = "refuse"
)

// Remembered is how long browsers may remember a preflight.
func (c CORS) Remembered() time.Duration { return c.MaxAge.Or(10 * time.Minute) }

// Skip is the [Check.Unidentified] that leaves the check out; the other one is the default.
const Skip = "skip"

// ShorthandFor implements [strictyaml.Shorthand]: a number alone is the fixed cost.
func (Cost) ShorthandFor() string { return "Tokens" }

// Fixed is the cost of a request in tokens, where nothing else says it.
func (c Cost) Fixed() int64 { return cmp.Or(c.Tokens, 1) }

// OfBody is the cost in tokens of a request whose body has so many bytes; -1 is a body as long as any. It is Fixed when
// bodies do not cost.
func (c Cost) OfBody(length int64) int64 {
	if c.BytesPerToken == 0 {
		return c.Fixed()
	}
	if length < 0 {
		return c.Bound(math.MaxInt64)
	}
	tokens := length / c.BytesPerToken
	if length%c.BytesPerToken > 0 {
		tokens++
	}
	return c.Bound(tokens)
}

// Bound is a number of tokens within the bounds.
func (c Cost) Bound(tokens int64) int64 {
	lowest, highest := c.Bounds()
	return min(max(tokens, lowest), highest)
}

// Bounds are the minimum and the maximum cost in tokens by a header or a body.
func (c Cost) Bounds() (lowest, highest int64) { return cmp.Or(c.Min, 1), cmp.Or(c.Max, 1_000_000) }

// StatusCode is that of a denial.
func (a Answer) StatusCode() int { return cmp.Or(a.Status, 429) }

// Forms are those in which limits are told, some of [HeaderForms]; none for none.
func (a Answer) Forms() []string {
	switch {
	case len(a.Headers) == 0:
		return []string{FormRateLimit}
	case a.Headers[0] == FormNone:
		return nil
	}
	return a.Headers
}

// Type is the content type of Body.
func (a Answer) Type() string { return cmp.Or(a.ContentType, "text/plain; charset=utf-8") }

// DeniedShare is the share of denials that are logged, 0 to 1.
func (l Log) DeniedShare() float64 {
	if l.Denied == nil {
		return 1
	}
	return *l.Denied
}

// The values of AccessLog.What.
const (
	LogsDenied    = "denied"
	LogsUndecided = "undecided"
	LogsAll       = "all"
)

// Logged says which requests have a line.
func (a AccessLog) Logged() string { return cmp.Or(a.What, LogsDenied) }

// SampleShare is the share of these that have one, 0 to 1.
func (a AccessLog) SampleShare() float64 {
	if a.Sample == nil {
		return 1
	}
	return *a.Sample
}

// SampleShare is the share of requests that begin a trace, 0 to 1.
func (t Tracing) SampleShare() float64 { return cmp.Or(t.Share, 0.01) }

// AnswerOf is what the gateway tells the clients of a route. Where the route does not say otherwise, clients of a language model are told
// in the dialect of its API.
func (d *Document) AnswerOf(r *Route) Answer {
	a := d.Answer
	if r.Answer != nil {
		a = *r.Answer
	}
	form := r.LLM.dialect()
	switch {
	case form == "":
	case r.Answer == nil:
		return Answer{Headers: []string{form}, Debug: a.Debug}
	case len(a.Headers) == 0 && a.Status == 0 && a.Redirect == "" && a.Body == "":
		a.Headers = []string{form}
	}
	return a
}

// Dialect is the one of Headers whose API says how refusals are written, too; empty for none.
func (a Answer) Dialect() string {
	for _, form := range a.Headers {
		if form == FormOpenAI || form == FormAnthropic {
			return form
		}
	}
	return ""
}
