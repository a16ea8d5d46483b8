// Package identity identifies the client of a request: it turns what is known of the request into the key that limits count.
//
// A [Finder] is made once of a document. Of each request it makes [Facts], which are found only when a template asks for
// them: the client's address behind trusted proxies, the claims of a token (RFC 7519), an API key, headers, cookies. The
// [Templates] of a check, tried in their order, make the key:
//
//	request ─ Facts ─┬─ address ── trusted proxies, X-Forwarded-For, Forwarded ──┐
//	                 ├─ token ──── algorithm, claims, time, signature, memory ───┤
//	                 ├─ API key ── HMAC-SHA-256, known keys ─────────────────────┼─ Templates ─ Key
//	                 └─ header, cookie, path, host, method, route ───────────────┘
//
// It promises:
//   - A key is 1 to 512 bytes of UTF-8, for every request.
//   - Two requests for which a template has different values never get the same key from it.
//   - A client cannot forge what the document says how to verify: an address in a header counts only from trusted proxies, a
//     claim only from a token whose signature, time, issuer and audience are valid.
//   - A request that two servers could read as that of two different clients is reported by [Facts.Contradiction].
//   - What a request claims costs time in proportion to its size at most.
//
// Start with [New].
package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// firstKeysWithin is how long New waits for the first keys of URLs.
const firstKeysWithin = 2 * time.Second

// Config makes a Finder. The zero value of every field is usable.
type Config struct {
	Identity   config.Identity
	Logger     *slog.Logger          // nil means that nothing is logged
	Registerer prometheus.Registerer // nil means no metrics; several Finders may share one
	Client     *http.Client          // reads key sets; nil means one of its own. Redirects are followed within the URL's host only
	Now        func() time.Time      // the time that tokens are held against; nil means time.Now
	// Before is the Finder that this one replaces; nil for none. An issuer that the document has not changed keeps its keys, and its
	// verified tokens stay cached.
	Before *Finder
}

// A Finder identifies clients. Its methods may be called from any number of goroutines.
type Finder struct {
	addresses addresses
	issuers   []*issuer
	apiKeys   *apiKeys // nil without api_key
	shared    bool     // tokens and API keys are shown in the same header
	now       func() time.Time

	sources atomic.Pointer[[]source]
	noting  sync.Mutex // held while sources is replaced

	stop    context.CancelFunc
	running sync.WaitGroup // a goroutine for each issuer with a URL
	idle    func()         // closes what connections the Finder itself has opened
}

// New makes a Finder, and starts to read the key sets of URLs in the background, until Close. For the first ones it waits
// 2 s at most: then it goes on without them, and tokens prove nothing until they have come. Its errors are
// *limit.FieldError, joined.
func New(cfg Config) (*Finder, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	f := &Finder{now: cfg.Now, idle: func() {}}
	var problems []error
	f.addresses, err = newAddresses(cfg.Identity)
	problems = append(problems, err)
	if cfg.Identity.APIKey != nil {
		f.apiKeys, err = newAPIKeys(*cfg.Identity.APIKey)
		problems = append(problems, under("identity.api_key", err))
	}
	for i, entry := range cfg.Identity.JWT {
		is, err := newIssuer(entry, i, cfg.Logger, m)
		problems = append(problems, under(fmt.Sprintf("identity.jwt[%d]", i), err))
		if err == nil && cfg.Before != nil {
			is.inherit(cfg.Before.issuers)
		}
		f.issuers = append(f.issuers, is)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	f.shared = f.sharesHeader()
	f.noteIdentity()
	f.start(cfg.Client)
	return f, nil
}

// sharesHeader says whether tokens and API keys are shown in the same header.
func (f *Finder) sharesHeader() bool {
	return f.apiKeys != nil && f.apiKeys.header != "" &&
		slices.ContainsFunc(f.issuers, func(is *issuer) bool { return is.header == f.apiKeys.header })
}

// start starts a goroutine for each issuer with a URL, and waits for their first keys.
func (f *Finder) start(client *http.Client) {
	ctx, stop := context.WithCancel(context.Background())
	f.stop = stop
	var first []<-chan struct{}
	for _, is := range f.issuers {
		if is.refresh == nil {
			continue
		}
		if client == nil {
			own := &http.Transport{
				Proxy:                  http.ProxyFromEnvironment,
				ForceAttemptHTTP2:      true,
				MaxResponseHeaderBytes: 64 << 10,
				IdleConnTimeout:        time.Minute,
				TLSHandshakeTimeout:    fetchWithin,
			}
			client, f.idle = &http.Client{Transport: own}, own.CloseIdleConnections
		}
		is.refresh.client = &http.Client{Transport: client.Transport, Timeout: client.Timeout, Jar: client.Jar, CheckRedirect: ownOrigin}
		first = append(first, is.refresh.first)
		f.running.Go(func() { is.refresh.run(ctx) })
	}
	if first == nil {
		return
	}
	patience := time.NewTimer(firstKeysWithin)
	defer patience.Stop()
	for _, had := range first {
		select {
		case <-had:
		case <-patience.C:
			return
		}
	}
}

// Close ends the reading of key sets, and waits for it to end. The Finder goes on with the keys that it has.
func (f *Finder) Close() {
	f.stop()
	f.running.Wait()
	f.idle()
}

// under puts the path of the enclosing value in front of the field of err, if err is an error.
func under(path string, err error) error {
	var fe *limit.FieldError
	if !errors.As(err, &fe) {
		return err
	}
	in := *fe
	in.Field = path + "." + fe.Field
	return &in
}
