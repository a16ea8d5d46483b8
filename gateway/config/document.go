package config

import "github.com/jeton-dev/jeton/actor/limit"

// A Document is the whole configuration of a gateway, with the content of the files that it names: see [Read].
type Document struct {
	// Name identifies this gateway among the others, 1 to 32 letters, digits and dashes. The id of every denial begins with
	// it. Empty means the host name.
	Name string `yaml:"name"`
	// Cluster says which nodes decide, and how long the gateway waits for them.
	Cluster Cluster `yaml:"cluster"`
	// Clusters are further clusters by name, for checks that name the one they ask: limits of a region beside those of the planet. They have
	// the fields of cluster but for max_in_flight and max_in_flight_per_client; decide_within, repeat_denials and gateways are
	// those of cluster where they are left out. At most 16. Where cluster has no servers, every check names one of these.
	Clusters map[string]Cluster `yaml:"clusters"`
	// Proxy is the reverse proxy: it forwards the requests that pass to upstreams.
	Proxy *Proxy `yaml:"proxy"`
	// ForwardAuth is the listener for other proxies that ask for each request whether it may pass.
	ForwardAuth *ForwardAuth `yaml:"forward_auth"`
	// Doors are protocols of other systems that the gateway speaks, beside HTTP. The cluster of the field cluster decides.
	Doors *Doors `yaml:"doors"`
	// Admin is the listener for operators.
	Admin Admin `yaml:"admin"`
	// Identity says how clients are identified.
	Identity Identity `yaml:"identity"`
	// Exempt says which requests are never limited.
	Exempt Exempt `yaml:"exempt"`
	// Deny says which requests are always refused.
	Deny Deny `yaml:"deny"`
	// Routes say which limits apply to which requests. The most specific route that matches a request applies, whatever the
	// order of the list. A request that matches no route is not limited, and the proxy answers it 404.
	Routes []Route `yaml:"routes"`
	// Answer says what the gateway tells clients, for all routes without an answer of their own.
	Answer Answer `yaml:"answer"`
	// CORS says which pages of other origins may read what the gateway answers, for all routes without a cors of their own.
	CORS *CORS `yaml:"cors"`
	// Log says which decisions are logged.
	Log Log `yaml:"log"`
	// AccessLog says which requests have a line of JSON in a file.
	AccessLog AccessLog `yaml:"access_log"`
	// Tracing says where spans are sent.
	Tracing Tracing `yaml:"tracing"`

	text  []byte         // that it was parsed from; nil for a document made by a program
	lines map[string]int // where each of its fields stands in text, by path
}

// Cluster says which nodes decide, how long the gateway waits for them, and how much it takes on at once. Checks ask it that name no other.
type Cluster struct {
	// Servers are the gRPC addresses of one or more nodes, host:port; the gateway learns those of the other nodes from them.
	// Empty means 127.0.0.1:7700.
	Servers []string `yaml:"servers"`
	// TLS is the certificate that the gateway shows to nodes, and the authority that their certificates come from. Without
	// it, connections to nodes are not encrypted.
	TLS *MutualTLS `yaml:"tls"`
	// TokenFile holds the token, of at least 16 bytes of printable ASCII, that the gateway shows to nodes when an operator looks at a
	// bucket or fills one at the admin listener: the first line that does not begin with #. Nodes with a cluster key or with
	// certificates require one. It is sent over encrypted connections and over loopback only.
	TokenFile File `yaml:"token_file"`
	// DecideWithin is how long a request may wait for the decision of this cluster, retries included: 1ms to 30s. 0 means 50ms. A cluster that
	// is far away needs more than a round trip.
	DecideWithin Duration `yaml:"decide_within"`
	// RepeatDenials is how long a denial of the nodes is repeated at most: until the time at which they said that the request would
	// pass, the same request is denied again, and no node is asked. After a reset, a return or a change of live overrides it may be denied
	// for so much longer; a change of the limits counts at once. 0s to 1s; 0s asks the nodes each time. Left out means 1s.
	RepeatDenials *Duration `yaml:"repeat_denials"`
	// Gateways is how many gateways share the limits whose on_unavailable is local, at most 10000. While no node decides,
	// each gateway has an equal part of their capacity and refill. 0 means 1.
	Gateways int `yaml:"gateways"`
	// MaxInFlight is the maximum number of concurrent requests, at most 10 million. Further ones are answered 503 at once. 0
	// means 10000.
	MaxInFlight int `yaml:"max_in_flight"`
	// MaxInFlightPerClient is the maximum number of concurrent requests of one client, at most 10 million. Further ones are
	// answered 429 at once. A client is an address, as in {ip}. Streams and WebSockets count for as long as they are open. 0
	// means an eighth of max_in_flight.
	MaxInFlightPerClient int `yaml:"max_in_flight_per_client"`
}

// MutualTLS is a certificate with its key, and the authority that the other side's certificate comes from. All are PEM files.
type MutualTLS struct {
	// Cert is the certificate, followed by the intermediate certificates.
	Cert File `yaml:"cert"`
	// Key is the private key of Cert.
	Key File `yaml:"key"`
	// CA holds the certificates of the authority.
	CA File `yaml:"ca"`
}

// ServerTLS is the certificate that clients are shown. Both are PEM files.
type ServerTLS struct {
	// Cert is the certificate, followed by the intermediate certificates.
	Cert File `yaml:"cert"`
	// Key is the private key of Cert.
	Key File `yaml:"key"`
}

// UpstreamTLS says how the proxy verifies an instance of an upstream, and which certificate it shows. All files are PEM.
type UpstreamTLS struct {
	// CA holds the certificates of the authority that the instance's certificate must come from. Empty means the authorities
	// of the system.
	CA File `yaml:"ca"`
	// Cert is the certificate, followed by the intermediate certificates, that the proxy shows to an instance that asks for
	// one. Empty means none.
	Cert File `yaml:"cert"`
	// Key is the private key of Cert. Give both, or neither.
	Key File `yaml:"key"`
	// ServerName is the name that the instance's certificate must have. Empty means the host of its URL.
	ServerName string `yaml:"server_name"`
}

// Proxy is the reverse proxy.
type Proxy struct {
	// Listen is host:port. Empty means 127.0.0.1:7780.
	Listen string `yaml:"listen"`
	// TLS is the certificate that clients are shown. Without it, the proxy speaks HTTP/1.1 and HTTP/2 unencrypted.
	TLS *ServerTLS `yaml:"tls"`
	// Upstreams are the services behind the proxy, at least one, by name. A name is written like that of a route.
	Upstreams map[string]Upstream `yaml:"upstreams"`
	// MaxHeader is the maximum size of a request's header in bytes, 1024 to 16 MiB. 0 means 32 KiB.
	MaxHeader int `yaml:"max_header"`
	// MaxBody is the maximum size of a request's body in bytes. A larger one is answered 413. 0 means 10 MiB, -1 no maximum.
	MaxBody int64 `yaml:"max_body"`
	// MaxBodyMemory is the maximum memory in bytes that the bodies of requests to language models take together, at most 1 TiB and not less
	// than max_body. The gateway reads such a body whole, up to 64 MiB where max_body is -1, and keeps it until it is sent to the model. A
	// request whose body finds no room is answered 503. 0 means 256 MiB, or max_body where that is more.
	MaxBodyMemory int64 `yaml:"max_body_memory"`
	// MaxBodyMemoryPerClient is the part of max_body_memory that the bodies of one client may take, not less than max_body. Further ones are
	// answered 429. A client is an address, as in {ip}. 0 means a quarter of max_body_memory, or max_body where that is more.
	MaxBodyMemoryPerClient int64 `yaml:"max_body_memory_per_client"`
	// HeaderWithin is how long a client may take to send a header: 1ms to 10m. 0 means 5s.
	HeaderWithin Duration `yaml:"header_within"`
	// BodyPause is how long the gateway waits for a client to send its body, in all, in addition to the time that body_rate
	// allows: 1ms to 24h. 0 means 1m.
	BodyPause Duration `yaml:"body_pause"`
	// BodyRate is the minimum rate of a body in bytes a second, at most 1 GiB: for each so many bytes that arrive, the
	// gateway waits a second longer. A client that is slower is answered 408. Only the time spent waiting for the client
	// counts, not the time that the upstream takes to read the body. 0 means 500. With -1 there is no minimum: then
	// body_pause is how long a client may send nothing.
	BodyRate int64 `yaml:"body_rate"`
	// AnswerPause is how long a client may read nothing while there is more of an answer to send: 1ms to 24h. 0 means 1m.
	AnswerPause Duration `yaml:"answer_pause"`
	// IdleWithin is how long a connection may be idle between two requests: 1ms to 24h. 0 means 2m.
	IdleWithin Duration `yaml:"idle_within"`
	// MaxConnections is the maximum number of open connections, at most a million. When it is reached, a new connection from
	// an address that has few takes the place of one from the address that has most. 0 means 20000, or half of the files that
	// the process may open if that is less.
	MaxConnections int `yaml:"max_connections"`
	// MaxConnectionsPerClient is the maximum number of open connections from one IPv4 address or one IPv6 /64, at most a
	// million. Further ones are closed at once. Those of identity.trusted_proxies are not counted. 0 means an eighth of
	// max_connections.
	MaxConnectionsPerClient int `yaml:"max_connections_per_client"`
}

// Upstream is one service behind the proxy.
type Upstream struct {
	// URLs are the addresses of its instances, such as http://127.0.0.1:9000, with the scheme http, https or h2c. Requests go
	// to the instances in turn. An instance that accepts no connection is skipped until it does again. h2c is unencrypted
	// HTTP/2, as gRPC services speak it; over https, HTTP/2 is used where the instance supports it. A path in a URL is put
	// before the path of the request, and must be the same in all URLs.
	URLs []string `yaml:"urls"`
	// TLS says how instances at https are verified, and which certificate they are shown. Without it, the authorities of the
	// system are trusted.
	TLS *UpstreamTLS `yaml:"tls"`
	// KeepHost forwards the client's Host. Otherwise the upstream gets its own host, and the client's as X-Forwarded-Host.
	KeepHost bool `yaml:"keep_host"`
	// ConnectWithin is how long opening a connection may take, with the TLS handshake: 1ms to 10m. 0 means 5s.
	ConnectWithin Duration `yaml:"connect_within"`
	// BodyRate replaces proxy.body_rate for this upstream. 0 means that one's value. Use -1 for services whose clients
	// stream, such as gRPC clients that send a message now and then.
	BodyRate int64 `yaml:"body_rate"`
	// RespondWithin is how long the upstream may take to send the header of its answer, 1ms to 24h. The body may take any
	// time after that. 0 means 60s.
	RespondWithin Duration `yaml:"respond_within"`
}

// ForwardAuth is the listener for nginx, HAProxy, Caddy and Traefik, which ask for each request whether it may pass.
type ForwardAuth struct {
	// Listen is host:port. Empty means 127.0.0.1:7782.
	Listen string `yaml:"listen"`
	// Trusted are the networks of the proxies that may ask. Every other client is answered 403. Empty means loopback.
	Trusted []Network `yaml:"trusted"`
}

// Doors are protocols of other systems that the gateway speaks, each with limits as that system writes them.
type Doors struct {
	// GRPC names those that answer at listen: extauthz (Envoy's external authorization, by the routes of this document), gubernator,
	// kuadrant (Kuadrant's Limitador), rls (Envoy's rate limit service) and rlqs (Envoy's rate limit quota service).
	GRPC []string `yaml:"grpc"`
	// Listen is host:port, for gRPC. Empty means 127.0.0.1:7783.
	Listen string `yaml:"listen"`
	// TLS is the certificate that clients of these listeners are shown. Without it, they speak plain text.
	TLS *ServerTLS `yaml:"tls"`
	// RLSConfig is the directory with the limits of rls, as envoyproxy/ratelimit reads them: files in YAML, which the gateway follows.
	RLSConfig Folder `yaml:"rls_config"`
	// RLSHeaders adds RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset to answers of rls.
	RLSHeaders bool `yaml:"rls_headers"`
	// RLSMetadata adds dynamic metadata to answers of rls.
	RLSMetadata bool `yaml:"rls_metadata"`
	// KuadrantConfig is the file with the limits of kuadrant, as Limitador reads it, or a directory with several. The gateway follows them.
	KuadrantConfig Place `yaml:"kuadrant_config"`
	// Redis is host:port for clients that speak Redis' protocol. Empty means none.
	Redis string `yaml:"redis"`
	// RedisTokenFile holds tokens of at least 16 bytes of printable ASCII, one per line, of which such a client shows one by AUTH;
	// lines that begin with # are comments. Left out, they need none.
	RedisTokenFile File `yaml:"redis_token_file"`
	// Trusted are the networks of the clients that may connect to these listeners: they may spend of any key. Every other connection is closed. Empty
	// means loopback.
	Trusted []Network `yaml:"trusted"`
}

// Admin is the listener for operators: /livez, /readyz, /metrics, /debug/, /v1/denials, and the JSON API of a node.
type Admin struct {
	// Listen is host:port. Empty means 127.0.0.1:7781.
	Listen string `yaml:"listen"`
	// TokenFile holds bearer tokens of at least 16 bytes of printable ASCII, one per line; lines that begin with # are comments. Every path
	// except /livez, /readyz and /metrics requires one of them. The file is required when listen is not on loopback.
	TokenFile File `yaml:"token_file"`
}

// Identity says how clients are identified.
type Identity struct {
	// Key says which key limits count, for all checks without a key of their own: templates, the most trusted first. The
	// first template whose variables all have a value is used. Empty means ["ip:{ip}"].
	//
	// Variables: {ip}, {jwt.CLAIM}, {api_key}, {api_key.ATTRIBUTE}, {header.NAME}, {proxy_header.NAME} (counts only from a
	// trusted proxy), {cookie.NAME}, {route}, {method}, {host}, {path.NAME} (a {NAME} of the route's path). Braces have no
	// other use.
	Key []string `yaml:"key"`
	// TrustedProxies are the networks of the proxies in front of the gateway, which are believed about the client's address.
	// Empty means none: the client is the other end of the connection.
	TrustedProxies []Network `yaml:"trusted_proxies"`
	// AddressHeader is the header in which trusted proxies send the client's address: X-Forwarded-For, Forwarded (RFC 7239),
	// or a header with a single address, such as CF-Connecting-IP. Empty means X-Forwarded-For.
	AddressHeader string `yaml:"address_header"`
	// IPv6Prefix is the length of the IPv6 network that counts as one client, 1 to 128. 0 means 64.
	IPv6Prefix int `yaml:"ipv6_prefix"`
	// JWT lists the issuers whose tokens are accepted. The first issuer that a token is valid for is used. A token that is
	// valid for none does not identify its client, and the next template is tried.
	JWT []JWT `yaml:"jwt"`
	// APIKey says where clients send API keys, and which keys are valid.
	APIKey *APIKey `yaml:"api_key"`
	// OnBadCredentials says what happens to a request with an invalid token or API key, such as an expired or unknown one:
	// anonymous (the default) treats it as if it had none, refuse answers 401 and says what is wrong. Exempt requests pass
	// either way.
	OnBadCredentials string `yaml:"on_bad_credentials"`
}

// JWT is one issuer of tokens (RFC 7519). Exactly one of JWKSURL, JWKSFile and SecretFile is given.
type JWT struct {
	// JWKSURL is the URL of its public keys (RFC 7517), fetched again every RefreshEvery and when a token names an unknown
	// key. It is https, or http on loopback.
	JWKSURL string `yaml:"jwks_url"`
	// JWKSFile holds its public keys (RFC 7517).
	JWKSFile File `yaml:"jwks_file"`
	// SecretFile holds the secret of HS256, HS384 or HS512, at least 32 bytes. White space at both ends is ignored.
	SecretFile File `yaml:"secret_file"`
	// Algorithms are those that are accepted; required. With SecretFile: HS256, HS384, HS512. With public keys: RS256, RS384,
	// RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA. "none" is never accepted.
	Algorithms []string `yaml:"algorithms"`
	// Issuer, if given, must be the token's iss.
	Issuer string `yaml:"issuer"`
	// Audience, if given, must be in the token's aud.
	Audience string `yaml:"audience"`
	// Leeway is the difference between clocks that exp and nbf allow for, 1ms to 1h. A token must have exp. 0 means 30s.
	Leeway Duration `yaml:"leeway"`
	// Header is the header with the token, after "Bearer ". Empty means Authorization.
	Header string `yaml:"header"`
	// Cookie is a cookie that may hold the token instead.
	Cookie string `yaml:"cookie"`
	// RefreshEvery is the maximum age of keys from JWKSURL: 1s to 24h. 0 means 10m.
	RefreshEvery Duration `yaml:"refresh_every"`
}

// APIKey says where clients send API keys, and which keys are valid. A key itself is never stored, logged or sent to the
// cluster: its HMAC-SHA-256 takes its place, or for a key of KeysFile its SHA-256.
type APIKey struct {
	// Header is the header with the key. Empty, without Query, means X-Api-Key.
	Header string `yaml:"header"`
	// Query is a parameter of the URL that may hold the key instead.
	Query string `yaml:"query"`
	// KeysFile holds valid keys, one a line, each with a label, an owner, and optionally attributes and an expiry. It is a
	// file, or a folder of files whose names end in .jsonl. "jeton keys" adds, lists and revokes keys. The file holds the
	// SHA-256 of each key, not the key.
	KeysFile KeysFile `yaml:"keys_file"`
	// SecretFile holds the secret of the HMAC, at least 16 bytes. White space at both ends is ignored. Required for Known and
	// Any, and the same at all gateways.
	SecretFile File `yaml:"secret_file"`
	// Known lists further valid keys; required without KeysFile and Any. "jeton gateway digest" computes digests.
	Known []KnownKey `yaml:"known"`
	// Any accepts every key, known or not. A client that makes up keys then has as many buckets as it sends keys: use it only
	// behind something that has verified the keys.
	Any bool `yaml:"any"`
	// PassOn forwards the key to the upstream. Otherwise the proxy removes it from the request.
	PassOn bool `yaml:"pass_on"`
}

// KnownKey is an API key by its digest.
type KnownKey struct {
	// Digest is the HMAC-SHA-256 of the key, 64 hexadecimal digits in lower case.
	Digest string `yaml:"digest"`
	// Attributes are further facts about the key, such as its owner and plan: {api_key.NAME} in templates and choices. A name
	// is written like that of a route.
	Attributes map[string]string `yaml:"attributes"`
}

// Exempt says which requests are never limited: those that match at least one of its fields.
type Exempt struct {
	// TokenFile holds internal tokens of at least 16 bytes of printable ASCII, one per line; lines that begin with # are comments. Have two
	// while you replace one.
	TokenFile File `yaml:"token_file"`
	// TokenHeader is the header with the token. The proxy does not forward it. Empty means X-Internal-Token.
	TokenHeader string `yaml:"token_header"`
	// Paths are patterns like those of routes.
	Paths []string `yaml:"paths"`
	// Networks are those of clients.
	Networks []Network `yaml:"networks"`
}

// Deny says which requests are always refused, with 403.
type Deny struct {
	// Networks are those of clients.
	Networks []Network `yaml:"networks"`
	// Keys are keys as templates make them, such as user:mallory. They are compared with the key of identity.key for every
	// request, and with the keys of the checks of its route.
	Keys []string `yaml:"keys"`
}

// Route says what applies to some requests.
type Route struct {
	// Name identifies the route in metrics, logs and {route}: 1 to 64 letters, digits, dots, dashes and underscores, unique.
	Name string `yaml:"name"`
	// Hosts are those of the request, in lower case and without a port; *.example.com matches every name below example.com.
	// Empty means every host.
	Hosts []string `yaml:"hosts"`
	// Methods are those of the request, in upper case; GET includes HEAD. Empty means every method.
	Methods []string `yaml:"methods"`
	// Path matches that path and everything below it, by whole segments: /health matches /health and /health/db, not
	// /health-data. Case matters. {name} matches one segment. With a $ at the end it matches nothing below. Of several routes
	// that match, the one with the longest path applies; then one with a host, then one with methods. Required: / matches
	// everything. See [CheckPattern].
	Path string `yaml:"path"`
	// Upstream is the service that answers, by its name under proxy.upstreams. Empty means the only one. Leave it out without
	// a proxy.
	Upstream string `yaml:"upstream"`
	// Checks are made in their order. When one denies, what the earlier ones took is given back, and the later ones are not made: put
	// first what is denied most often, and last the key that most clients share.
	Checks []Check `yaml:"checks"`
	// Refund lists the answers that cost nothing: what the checks took is given back when the answer has one of these
	// statuses, such as 503, or is of one of these classes, such as 5xx. The gateway's own 502 and 504 count, too. Not
	// together with ChargeWhen. It needs the proxy, or the middleware or interceptor of a Go service. A gRPC call counts by
	// the HTTP status that corresponds to its own, such as 503 for Unavailable. With or without it, the proxy gives back what
	// a request took that it could send to no instance of its upstream.
	Refund []Status `yaml:"refund"`
	// ChargeWhen lists the only answers that cost: what the checks took is given back when the answer has another status.
	// With [401, 403], only failed logins count. A request is still checked and charged before it passes, so concurrent
	// requests cannot exceed the limit together. Not together with Refund; it has the same requirements.
	ChargeWhen []Status `yaml:"charge_when"`
	// Answer replaces the document's answer for this route, with all its fields.
	Answer *Answer `yaml:"answer"`
	// CORS replaces the document's cors for this route, with all its fields.
	CORS *CORS `yaml:"cors"`
	// LLM says that the upstream is a language model, so that checks can count tokens, money and streams.
	LLM *LLM `yaml:"llm"`
}

// Check is one key with its limits.
type Check struct {
	// Cluster is the name of the cluster that is asked, one of clusters. Empty means that of the field cluster. Headers, metrics and logs show its
	// limits as CLUSTER/LIMIT.
	Cluster string `yaml:"cluster"`
	// Key says which key is counted: templates like those of identity.key. Empty means identity.key.
	Key []string `yaml:"key"`
	// Limits are names of limits of the cluster, at most 16: the check passes if all of them admit it, and otherwise none is
	// charged. At least one, unless Choose is given: then an empty list limits nothing.
	Limits []string `yaml:"limits"`
	// Choose uses other limits instead when one of its cases matches.
	Choose *Choose `yaml:"choose"`
	// Cost is how many tokens a request takes. Empty means 1.
	Cost Cost `yaml:"cost"`
	// Counts is what the check counts in a route with llm: requests (the default), tokens, input or output (tokens of one kind), money (in
	// millionths of the unit of the prices), or streams (permits of a concurrency limit, each for as long as an answer goes on). Tokens and
	// money are held by the estimate and settled by the usage: their limits need a hold. Not together with Cost, Wait and Shadow, except for
	// requests.
	Counts string `yaml:"counts"`
	// Plan is a template of the plan of the limits that counts, such as '{jwt.plan}', written as those of key are. Where a variable has no
	// value, and where the limits have no plan of that name, the limits' own numbers count. A client that can choose the value chooses its plan.
	Plan string `yaml:"plan"`
	// Wait holds a request that would be denied until there are tokens for it, for at most that long: 0 to 30s. Each limit of the check
	// must allow it by its own wait. A client that leaves gives its place up.
	Wait Duration `yaml:"wait"`
	// Shadow counts and reports, and never denies. It takes tokens like every check, so give it limits or a key of its own.
	Shadow bool `yaml:"shadow"`
	// Unidentified says what happens when no template of Key has values for all its variables: deny (the default; 401), or
	// skip this check.
	Unidentified string `yaml:"unidentified"`
	// OnUnavailable says what happens when no node decides in time: allow, deny or local. Empty means what each limit says.
	OnUnavailable limit.Policy `yaml:"on_unavailable"`
}

// Choose selects limits by a variable: a claim, a header, an attribute of an API key, a score.
type Choose struct {
	// By is the variable, without braces, such as jwt.plan or proxy_header.X-Bot-Score.
	By string `yaml:"by"`
	// When lists the cases, at least one. The first one that matches is used. If none does, the limits of the check are used.
	When []Case `yaml:"when"`
}

// Case is one case of a choice. Exactly one of Is, Below and From is given.
type Case struct {
	// Is matches this exact value.
	Is string `yaml:"is"`
	// Below matches numbers less than this one.
	Below *float64 `yaml:"below"`
	// From matches this number and greater ones.
	From *float64 `yaml:"from"`
	// Limits are those of this case, at most 16; an empty list limits nothing. Required.
	Limits []string `yaml:"limits"`
}

// Cost is how many tokens a request takes: a number, or a mapping with one of Header and BytesPerToken.
type Cost struct {
	// Tokens is the fixed cost, or with Header, the cost of a request whose header is missing or not a number. 0 means 1. Not
	// together with BytesPerToken.
	Tokens int64 `yaml:"tokens"`
	// Header is the header with the number of tokens.
	Header string `yaml:"header"`
	// BytesPerToken makes a body cost one token for each so many bytes or part of them. A body of unknown length costs as
	// much as the longest one that is allowed. With forward_auth and gRPC the length is never known.
	BytesPerToken int64 `yaml:"bytes_per_token" zero:"write how many bytes cost a token, such as 1024, or leave the field out"`
	// Min is the minimum cost with Header or BytesPerToken. 0 means 1.
	Min int64 `yaml:"min"`
	// Max is the maximum cost with Header or BytesPerToken. 0 means a million.
	Max int64 `yaml:"max"`
}

// Answer says what the gateway tells clients.
type Answer struct {
	// Headers are the forms in which an answer shows the state of its limits: ratelimit
	// (draft-ietf-httpapi-ratelimit-headers-11), ratelimit-03 (its older three fields), x-ratelimit; and in the answer of a route with llm,
	// openai or anthropic, with which refusals have the form of that API, too. Empty means ratelimit, or the form of the API of an llm;
	// "none" alone means only Retry-After.
	Headers []string `yaml:"headers"`
	// Status is the status of a denial, 400 to 599. 0 means 429.
	Status int `yaml:"status"`
	// Redirect sends denied clients to a URL, with 303; {id} and {route} in it are replaced. It is http, https, or a path
	// that begins with /. Not together with Status or Body.
	Redirect string `yaml:"redirect"`
	// Body is a text/template for the body of a denial, instead of problem+json (RFC 9457). It has .ID, .Route, .Limits
	// (names), .RetryAfter (seconds) and .Status: see [BodyFields].
	Body string `yaml:"body"`
	// ContentType is the media type of Body. Empty means text/plain; charset=utf-8.
	ContentType string `yaml:"content_type"`
	// Debug adds X-Jeton-Decision, which names the node that decided, or says why none did.
	Debug bool `yaml:"debug"`
}

// CORS says which pages of other origins may read what the gateway itself answers, such as a denial. The gateway then answers
// preflights itself, at no cost, except behind a proxy that asks by forward_auth. An upstream sets the CORS headers of its
// own answers; the gateway only adds that pages may read the gateway's headers.
type CORS struct {
	// Origins are those of the pages: https://app.example.com, https://*.example.com for every name below, or "*" alone for
	// all. Required.
	Origins []string `yaml:"origins"`
	// Credentials allows pages to send cookies and other credentials. Not together with the origin "*".
	Credentials bool `yaml:"credentials"`
	// Methods are those that pages may use. Empty means any.
	Methods []string `yaml:"methods"`
	// Headers are those that pages may send. Empty means any.
	Headers []string `yaml:"headers"`
	// MaxAge is how long browsers may cache a preflight: 1s to 24h. 0 means 10m.
	MaxAge Duration `yaml:"max_age"`
}

// Log says which decisions are logged.
type Log struct {
	// Denied is the share of denials that are logged, 0 to 1, of those that a node decided: with cluster.repeat_denials, the next one
	// says how many times the one before was repeated. Left out means all.
	Denied *float64 `yaml:"denied"`
	// Allowed is the share of admissions that are logged, 0 to 1.
	Allowed float64 `yaml:"allowed"`
}

// AccessLog says which requests have a line of JSON in a file, with their outcome, status, keys, limits and times. It takes the place of log: decisions are not
// logged besides. It never holds a request up: where the file cannot be written, lines are dropped and counted
// (jeton_gateway_access_log_dropped_total).
type AccessLog struct {
	// Path is the file, to whose end lines are added, or - for standard output. It is opened anew on SIGHUP, after it was rotated. Empty
	// means none.
	Path string `yaml:"path"`
	// What says which requests have a line: denied (those that do not pass), undecided (those that the cluster has not decided, let through or
	// not), or all. Empty means denied.
	What string `yaml:"what"`
	// Sample is the share of these that have one, 0 to 1. Left out means all.
	Sample *float64 `yaml:"sample"`
	// HashKeys writes hashes of keys and of addresses of clients, as of keys from headers and cookies in any case. One search finds the lines of a
	// client at all gateways; a key that can be guessed is not protected.
	HashKeys bool `yaml:"hash_keys"`
	// Query writes the path with its query, which may hold secrets.
	Query bool `yaml:"query"`
}

// Tracing says where spans are sent.
type Tracing struct {
	// Endpoint is the host:port of an OTLP collector that speaks gRPC. Empty means that the gateway sends no spans. The trace
	// context of a request is forwarded to the upstream either way.
	Endpoint string `yaml:"endpoint"`
	// Insecure sends spans unencrypted.
	Insecure bool `yaml:"insecure"`
	// Share is the share of requests for which the gateway starts a trace, 0 to 1. A request that arrives with a trace
	// context keeps its sampling decision. 0 means 0.01.
	Share float64 `yaml:"share"`
}
