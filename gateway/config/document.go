package config

import "github.com/jeton-dev/jeton/actor/limit"

// A Document is the whole configuration of a gateway. What it says of files is read with it: see [Read].
type Document struct {
	// Name is the gateway's own among its like, 1 to 32 letters, digits and dashes. It begins the id of every denial. Empty
	// means the host name.
	Name string `yaml:"name"`
	// Cluster is who decides.
	Cluster Cluster `yaml:"cluster"`
	// Proxy lets requests through to upstreams itself.
	Proxy *Proxy `yaml:"proxy"`
	// ForwardAuth answers another proxy's question whether a request may pass.
	ForwardAuth *ForwardAuth `yaml:"forward_auth"`
	// Admin is where operators look.
	Admin Admin `yaml:"admin"`
	// Identity is who is asking.
	Identity Identity `yaml:"identity"`
	// Exempt is who is never limited.
	Exempt Exempt `yaml:"exempt"`
	// Deny is who is never let through.
	Deny Deny `yaml:"deny"`
	// Routes are which limits apply. The one that fits a request best counts, whatever their order; a request that
	// fits no route is not limited; the proxy answers it 404.
	Routes []Route `yaml:"routes"`
	// Answer is what clients are told, where a route does not say otherwise.
	Answer Answer `yaml:"answer"`
	// CORS is which pages of other origins may read what the gateway answers, where a route does not say otherwise.
	CORS *CORS `yaml:"cors"`
	// Log is which decisions are logged.
	Log Log `yaml:"log"`
	// Tracing is where spans go.
	Tracing Tracing `yaml:"tracing"`

	text  []byte         // that it was parsed from; nil for a document made by a program
	lines map[string]int // where each of its fields stands in text, by path
}

// Cluster says who decides, and what happens when nobody does.
type Cluster struct {
	// Servers are gRPC addresses of nodes, host:port; any of them, the others become known through them. Empty means
	// 127.0.0.1:7700.
	Servers []string `yaml:"servers"`
	// TLS is what the gateway presents to nodes, and by what it knows them; without it, plain text is spoken.
	TLS *MutualTLS `yaml:"tls"`
	// TokenFile holds the token, of at least 16 characters, that the gateway shows to nodes when an operator looks at a bucket
	// or fills one at the admin listener: the first line that does not begin with #. Nodes with a cluster key or certificates
	// ask for one. It is shown over TLS and over loopback only.
	TokenFile File `yaml:"token_file"`
	// DecideWithin is how long a request may wait for its decision, second tries included: 1ms to 30s. 0 means 50ms.
	DecideWithin Duration `yaml:"decide_within"`
	// Gateways is how many gateways share the limits whose on_unavailable is local, at most 10000: each then has that part
	// of the capacity and of the refill. 0 means 1.
	Gateways int `yaml:"gateways"`
	// MaxInFlight is how many requests may be under way at once, at most 10 million; more are answered 503 before anything
	// else is done for them. 0 means 10000.
	MaxInFlight int `yaml:"max_in_flight"`
	// MaxInFlightPerClient is how many of them may be of one client, at most 10 million; more are answered 429 before anything
	// else is done for them. A client is an address as {ip} has it. Streams and WebSockets are under way as long as they last.
	// 0 means an eighth of max_in_flight.
	MaxInFlightPerClient int `yaml:"max_in_flight_per_client"`
}

// MutualTLS is a certificate with its key, and the authority that the other side's certificate is from. All are PEM files.
type MutualTLS struct {
	// Cert is the certificate, with those between it and its authority.
	Cert File `yaml:"cert"`
	// Key is the private key of Cert.
	Key File `yaml:"key"`
	// CA are the certificates of the authority.
	CA File `yaml:"ca"`
}

// ServerTLS is what clients are shown. Both are PEM files.
type ServerTLS struct {
	// Cert is the certificate, with those between it and its authority.
	Cert File `yaml:"cert"`
	// Key is the private key of Cert.
	Key File `yaml:"key"`
}

// UpstreamTLS is by what the proxy knows an instance of an upstream, and what it shows it. All files are PEM.
type UpstreamTLS struct {
	// CA are the certificates of the authority that the instance's certificate is from. Empty means those of the system.
	CA File `yaml:"ca"`
	// Cert is the certificate that the proxy shows an instance that asks for one, with those between it and its authority. Empty
	// means none.
	Cert File `yaml:"cert"`
	// Key is the private key of Cert; both are given, or none.
	Key File `yaml:"key"`
	// ServerName is the name in the instance's certificate. Empty means the host of its URL.
	ServerName string `yaml:"server_name"`
}

// Proxy is the reverse proxy.
type Proxy struct {
	// Listen is host:port. Empty means 127.0.0.1:7780.
	Listen string `yaml:"listen"`
	// TLS is the certificate that clients are shown; without it, HTTP/1.1 and HTTP/2 are spoken in plain text.
	TLS *ServerTLS `yaml:"tls"`
	// Upstreams are who answers what is let through, at least one, by names like those of routes.
	Upstreams map[string]Upstream `yaml:"upstreams"`
	// MaxHeader is how many bytes the header of a request may have, 1024 to 16 MiB. 0 means 32 KiB.
	MaxHeader int `yaml:"max_header"`
	// MaxBody is how many bytes the body of a request may have, more are answered 413. 0 means 10 MiB, -1 any number.
	MaxBody int64 `yaml:"max_body"`
	// HeaderWithin is how long a client may take to send a header: 1ms to 10m. 0 means 5s.
	HeaderWithin Duration `yaml:"header_within"`
	// BodyPause is how long the gateway waits for a body in all, besides the time that body_rate gives: 1ms to 24h. 0 means 1m.
	BodyPause Duration `yaml:"body_pause"`
	// BodyRate is how many bytes of a body must come in a second, at most 1 GiB: the gateway waits a second longer for every so
	// many. A client that takes longer is answered 408. What the upstream takes to read is the client's time no more than an
	// answer is. 0 means 500, -1 any: then body_pause is how long a client may send nothing.
	BodyRate int64 `yaml:"body_rate"`
	// AnswerPause is how long a client may read nothing of an answer that has been written: 1ms to 24h. 0 means 1m.
	AnswerPause Duration `yaml:"answer_pause"`
	// IdleWithin is how long a connection may rest between two requests: 1ms to 24h. 0 means 2m.
	IdleWithin Duration `yaml:"idle_within"`
	// MaxConnections is how many connections may be open at once, at most a million. Beyond it, an address with few gets the
	// place of one of the address that has most. 0 means 20000, or half of the files that the process may open if that is less.
	MaxConnections int `yaml:"max_connections"`
	// MaxConnectionsPerClient is how many of them may be of one address, or of one /64 of IPv6, at most a million; those of
	// identity.trusted_proxies do not count. Further ones are closed at once. 0 means an eighth of max_connections.
	MaxConnectionsPerClient int `yaml:"max_connections_per_client"`
}

// Upstream is one service behind the proxy.
type Upstream struct {
	// URLs are where its instances are, http, https or h2c, such as http://127.0.0.1:9000; they are asked in turns, and one that
	// takes no connection is passed over until it does again. h2c is HTTP/2 without TLS, as services of gRPC speak it; over
	// https, HTTP/2 is spoken where the instance does. A path in a URL goes before that of the request, and is the same in all of
	// them.
	URLs []string `yaml:"urls"`
	// TLS is what an instance at https is known by, and what it is shown; without it, the authorities of the system count.
	TLS *UpstreamTLS `yaml:"tls"`
	// KeepHost sends the client's Host on; otherwise the upstream's own is sent, and the client's as X-Forwarded-Host.
	KeepHost bool `yaml:"keep_host"`
	// ConnectWithin is how long a connection may take, TLS included: 1ms to 10m. 0 means 5s.
	ConnectWithin Duration `yaml:"connect_within"`
	// BodyRate is proxy.body_rate for this upstream. 0 means what that says; -1 is for services whose clients stream, such as
	// those of gRPC that send a message now and then.
	BodyRate int64 `yaml:"body_rate"`
	// RespondWithin is how long the upstream may take until the header of its answer, 1ms to 24h; a stream may then last as
	// long as it will. 0 means 60s.
	RespondWithin Duration `yaml:"respond_within"`
}

// ForwardAuth is the listener that nginx, HAProxy, Caddy and Traefik ask.
type ForwardAuth struct {
	// Listen is host:port. Empty means 127.0.0.1:7782.
	Listen string `yaml:"listen"`
	// Trusted are the networks of the proxies that may ask; whoever else does is answered 403. Empty means loopback.
	Trusted []Network `yaml:"trusted"`
}

// Admin is the listener for operators: /livez, /readyz, /metrics, /debug/, /v1/denials, and the JSON API of a node.
type Admin struct {
	// Listen is host:port. Empty means 127.0.0.1:7781.
	Listen string `yaml:"listen"`
	// TokenFile holds the bearer tokens, one a line (those that begin with # do not count), of at least 16 characters, one of
	// which is asked for at every path but /livez, /readyz and /metrics. It is required beyond loopback.
	TokenFile File `yaml:"token_file"`
}

// Identity says how to find out who is asking.
type Identity struct {
	// Key is whom limits count, where a check does not say otherwise: templates of keys, the most trusted first, of which
	// the first one counts whose variables all have a value. Empty means ["ip:{ip}"].
	//
	// Variables: {ip}, {jwt.CLAIM}, {api_key}, {api_key.ATTRIBUTE}, {header.NAME}, {proxy_header.NAME} (counts only from a
	// trusted proxy), {cookie.NAME}, {route}, {method}, {host}, {path.NAME} (a {NAME} of the route's path). Braces stand
	// for nothing else.
	Key []string `yaml:"key"`
	// TrustedProxies are the networks of proxies in front of the gateway: what they say of the client's address is
	// believed. Empty means none: then the client is whoever connects.
	TrustedProxies []Network `yaml:"trusted_proxies"`
	// AddressHeader is where trusted proxies say it: X-Forwarded-For, Forwarded (RFC 7239), or a header with one address,
	// such as CF-Connecting-IP. Empty means X-Forwarded-For.
	AddressHeader string `yaml:"address_header"`
	// IPv6Prefix is how many bits of an IPv6 address tell clients apart, 1 to 128. 0 means 64.
	IPv6Prefix int `yaml:"ipv6_prefix"`
	// JWT are whose tokens are believed. The first one that a token satisfies counts; one that satisfies none proves
	// nothing, and the next template is tried.
	JWT []JWT `yaml:"jwt"`
	// APIKey is how clients show keys that were given to them.
	APIKey *APIKey `yaml:"api_key"`
	// OnBadCredentials is what becomes of a request that shows a token or an API key which does not count, because it has expired
	// or is not known, say: anonymous (the default) goes on as if it showed none, refuse answers 401 and tells what is wrong.
	// Exempt requests pass in any case.
	OnBadCredentials string `yaml:"on_bad_credentials"`
}

// JWT is one issuer of tokens (RFC 7519). Exactly one of JWKSURL, JWKSFile and SecretFile is given.
type JWT struct {
	// JWKSURL is where its public keys are (RFC 7517), read again every RefreshEvery and when a token names an unknown key.
	// It is https, or http on loopback.
	JWKSURL string `yaml:"jwks_url"`
	// JWKSFile holds its public keys (RFC 7517).
	JWKSFile File `yaml:"jwks_file"`
	// SecretFile holds the secret of HS256, HS384 or HS512, at least 32 bytes; white space at its ends does not count.
	SecretFile File `yaml:"secret_file"`
	// Algorithms are those that count; required. With SecretFile they are of HS256, HS384, HS512; with public keys of RS256,
	// RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA. "none" is none.
	Algorithms []string `yaml:"algorithms"`
	// Issuer, if given, must be the token's iss.
	Issuer string `yaml:"issuer"`
	// Audience, if given, must be in the token's aud.
	Audience string `yaml:"audience"`
	// Leeway is by how much clocks may differ at exp and nbf, 1ms to 1h. exp is required of a token. 0 means 30s.
	Leeway Duration `yaml:"leeway"`
	// Header is where the token is, after "Bearer ". Empty means Authorization.
	Header string `yaml:"header"`
	// Cookie is where it is looked for besides.
	Cookie string `yaml:"cookie"`
	// RefreshEvery is how old keys from JWKSURL may be: 1s to 24h. 0 means 10m.
	RefreshEvery Duration `yaml:"refresh_every"`
}

// APIKey is how clients show keys. A key itself is never stored, logged, or sent to the cluster: what stands for it is its
// HMAC-SHA-256, or for one of KeysFile its SHA-256.
type APIKey struct {
	// Header is where it is. Empty, without Query, means X-Api-Key.
	Header string `yaml:"header"`
	// Query is a parameter of the URL in which it may be instead.
	Query string `yaml:"query"`
	// KeysFile holds keys that count, one a line, each with a label, an owner and perhaps attributes and an expiry: a file, or a
	// folder whose files that end in .jsonl all count. "jeton keys" makes, lists and revokes them. What stands for such a key is
	// its SHA-256.
	KeysFile KeysFile `yaml:"keys_file"`
	// SecretFile holds the secret of the HMAC, at least 16 bytes; white space at its ends does not count. Required for Known and
	// Any, and the same at all gateways.
	SecretFile File `yaml:"secret_file"`
	// Known are keys that count besides; required unless KeysFile or Any. "jeton gateway digest" computes digests.
	Known []KnownKey `yaml:"known"`
	// Any makes every key count, known or not. Whoever makes keys up then has as many buckets as keys: only for a
	// gateway behind something that has checked them.
	Any bool `yaml:"any"`
	// PassOn sends the key on to the upstream; otherwise it is taken out of what the proxy passes on.
	PassOn bool `yaml:"pass_on"`
}

// KnownKey is an API key by its digest.
type KnownKey struct {
	// Digest is the HMAC-SHA-256 of the key, 64 hexadecimal digits in lower case.
	Digest string `yaml:"digest"`
	// Attributes are what else is known of it, such as its owner and plan: {api_key.NAME} in templates and choices. Their
	// names are like those of routes.
	Attributes map[string]string `yaml:"attributes"`
}

// Exempt is who is never limited, by any of these.
type Exempt struct {
	// TokenFile holds internal tokens, one a line (those that begin with # do not count), of at least 16 characters; two serve
	// while they are exchanged.
	TokenFile File `yaml:"token_file"`
	// TokenHeader is where requests have one; the proxy does not pass it on. Empty means X-Internal-Token.
	TokenHeader string `yaml:"token_header"`
	// Paths are patterns like those of routes.
	Paths []string `yaml:"paths"`
	// Networks are those of clients.
	Networks []Network `yaml:"networks"`
}

// Deny is who is never let through: 403.
type Deny struct {
	// Networks are those of clients.
	Networks []Network `yaml:"networks"`
	// Keys are keys as templates make them, those of identity.key for every request and those of the checks that it meets,
	// such as user:mallory.
	Keys []string `yaml:"keys"`
}

// Route says what applies to some requests.
type Route struct {
	// Name is for metrics, logs and {route}: 1 to 64 letters, digits, dots, dashes and underscores, its own.
	Name string `yaml:"name"`
	// Hosts are the request's, in lower case and without a port; *.example.com fits every name below example.com. Empty
	// means every host.
	Hosts []string `yaml:"hosts"`
	// Methods are the request's, in upper case; GET covers HEAD. Empty means every method.
	Methods []string `yaml:"methods"`
	// Path covers the path and everything below it, by whole segments: /health covers /health and /health/db, not
	// /health-data. Capital and small letters differ. {name} stands for one segment. A $ at the end covers nothing below. Of several that fit, the one with
	// the longest path wins; then one with a host, then one with methods. Required: / covers everything. See
	// [CheckPattern].
	Path string `yaml:"path"`
	// Upstream is who answers, a name under proxy.upstreams. Empty means the only one. Without a proxy there is none.
	Upstream string `yaml:"upstream"`
	// Checks are asked in their order. When one denies, what earlier ones took is given back.
	Checks []Check `yaml:"checks"`
	// Refund are the answers that cost nothing: what the checks took is given back when the answer has one of these statuses,
	// such as 503, or one of a class, such as 5xx; the gateway's own 502 and 504 are answers too. Not with ChargeWhen. It
	// needs the proxy, or the middleware or interceptor of a Go service. A call of gRPC counts by the status of HTTP that stands
	// for its own, such as 503 for Unavailable. Whatever it says, the proxy gives back what a request took that could
	// be sent to no instance of its upstream.
	Refund []Status `yaml:"refund"`
	// ChargeWhen are the only answers that cost: what the checks took is given back when the answer has another status. With
	// [401, 403], only logins that fail count. A request is checked and charged before it passes all the same, so that those
	// under way at once do not pass the limit together. Not with Refund; it needs what that needs.
	ChargeWhen []Status `yaml:"charge_when"`
	// Answer is what clients are told here, instead of the document's: nothing of that one counts.
	Answer *Answer `yaml:"answer"`
	// CORS is which pages of other origins may read what the gateway answers here, instead of the document's: nothing of that
	// one counts.
	CORS *CORS `yaml:"cors"`
}

// Check is one key with its limits.
type Check struct {
	// Key is whom it counts: templates like identity.key, which is what empty means.
	Key []string `yaml:"key"`
	// Limits are names of the cluster's limits, at most 16: all admit, or none is charged. At least one, unless Choose is
	// there: then none limits nothing.
	Limits []string `yaml:"limits"`
	// Choose takes other limits instead where it finds some.
	Choose *Choose `yaml:"choose"`
	// Cost is how many tokens a request takes. Empty means 1.
	Cost Cost `yaml:"cost"`
	// Shadow counts and reports, and never denies. It takes tokens as every check does, so give it limits or a key of its
	// own.
	Shadow bool `yaml:"shadow"`
	// Unidentified is what happens when no template of Key can be filled: deny (the default; 401), or skip this check.
	Unidentified string `yaml:"unidentified"`
	// OnUnavailable is what happens when no decision can be had: allow, deny or local. Empty means what each limit says.
	OnUnavailable limit.Policy `yaml:"on_unavailable"`
}

// Choose takes limits by a variable: a claim, a header, an attribute of an API key, a score.
type Choose struct {
	// By is the variable, without braces, such as jwt.plan or proxy_header.X-Bot-Score.
	By string `yaml:"by"`
	// When are the cases, at least one; the first one that fits counts. If none does, the check's own limits count.
	When []Case `yaml:"when"`
}

// Case is one case of a choice. Exactly one of Is, Below and From is given.
type Case struct {
	// Is fits this very value.
	Is string `yaml:"is"`
	// Below fits numbers less than this one.
	Below *float64 `yaml:"below"`
	// From fits numbers from this one on.
	From *float64 `yaml:"from"`
	// Limits count then, at most 16; an empty list limits nothing. Required.
	Limits []string `yaml:"limits"`
}

// Cost is how many tokens a request takes: a number, or a mapping with one of Header and BytesPerToken.
type Cost struct {
	// Tokens is the fixed cost, or what counts when the header is missing or no number. 0 means 1. Not with BytesPerToken.
	Tokens int64 `yaml:"tokens"`
	// Header has the number of tokens.
	Header string `yaml:"header"`
	// BytesPerToken makes a body cost a token for every so many bytes or part of them. A body of unknown length costs as
	// much as the longest one that is allowed; with forward_auth and gRPC none is known.
	BytesPerToken int64 `yaml:"bytes_per_token" zero:"write how many bytes cost a token, such as 1024, or leave the field out"`
	// Least is the least that Header and BytesPerToken may come to. 0 means 1.
	Least int64 `yaml:"least"`
	// Most is the most that Header and BytesPerToken may come to. 0 means a million.
	Most int64 `yaml:"most"`
}

// Answer is what clients are told.
type Answer struct {
	// Headers are the forms in which limits are told: ratelimit (draft-ietf-httpapi-ratelimit-headers-11), ratelimit-03
	// (its older three fields), x-ratelimit. Empty means ratelimit; "none" alone means none but Retry-After.
	Headers []string `yaml:"headers"`
	// Status is that of a denial, 400 to 599. 0 means 429.
	Status int `yaml:"status"`
	// Redirect sends who is denied to a URL instead, by 303; {id} and {route} in it are filled in. It is http, https, or a
	// path that begins with /. Not with Status or Body.
	Redirect string `yaml:"redirect"`
	// Body is a text/template of the body of a denial, instead of problem+json (RFC 9457). It has .ID, .Route, .Limits
	// (names), .RetryAfter (seconds) and .Status: see [BodyFields].
	Body string `yaml:"body"`
	// ContentType is that of Body. Empty means text/plain; charset=utf-8.
	ContentType string `yaml:"content_type"`
	// Debug adds X-Jeton-Decision, which says who decided: the node, or why none.
	Debug bool `yaml:"debug"`
}

// CORS says which pages of other origins may read what the gateway itself answers, such as a denial. Preflights are then answered
// by the gateway, at no cost, except behind a proxy that asks (forward_auth). What an upstream answers it says of itself; the
// gateway only adds that its own headers may be read.
type CORS struct {
	// Origins are those of the pages: https://app.example.com, https://*.example.com for every name below, or "*" alone for all.
	// Required.
	Origins []string `yaml:"origins"`
	// Credentials lets pages send cookies and the like. Not with the origin "*".
	Credentials bool `yaml:"credentials"`
	// Methods are those that pages may use. Empty means any.
	Methods []string `yaml:"methods"`
	// Headers are those that pages may send. Empty means any.
	Headers []string `yaml:"headers"`
	// MaxAge is how long browsers may remember a preflight: 1s to 24h. 0 means 10m.
	MaxAge Duration `yaml:"max_age"`
}

// Log says which decisions are logged.
type Log struct {
	// Denied is the share of denials that are logged, 0 to 1. Unless said, all.
	Denied *float64 `yaml:"denied"`
	// Allowed is the share of admissions that are logged, 0 to 1.
	Allowed float64 `yaml:"allowed"`
}

// Tracing says where spans go.
type Tracing struct {
	// Endpoint is the host:port of an OTLP collector that speaks gRPC. Empty means no spans of the gateway's own; trace
	// context goes on to the upstream in any case.
	Endpoint string `yaml:"endpoint"`
	// Insecure speaks plain text to it.
	Insecure bool `yaml:"insecure"`
	// Share of requests that begin a trace, 0 to 1; those that come with one keep its choice. 0 means 0.01.
	Share float64 `yaml:"share"`
}
