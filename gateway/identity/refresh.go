package identity

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// How key sets are read from URLs.
const (
	fetchWithin = 5 * time.Second  // for the whole answer
	maxSetBytes = 1 << 20          // of the answer
	wantedEvery = 10 * time.Second // at most so often because of tokens that name unknown keys
	firstRetry  = time.Second      // after a failure; doubles
	maxRetry    = time.Minute
	minRefresh  = time.Second
)

// refresh keeps the keys of one issuer as they are at its URL. When that fails, the keys stay as they were.
type refresh struct {
	url    string
	shown  string // the URL as logs have it
	every  time.Duration
	keys   *atomic.Pointer[keySet]
	client *http.Client
	logger *slog.Logger

	plan atomic.Pointer[plan] // nil before the first try

	wanted chan struct{} // gets a value when a request shows a token with an unknown key
	first  chan struct{} // closed after the first try
	latest atomic.Pointer[reading]

	good, bad prometheus.Counter
	when      prometheus.Gauge
}

// A plan is when keys were read, or should have been, and when they are to be read again.
type plan struct{ last, next time.Time }

func newRefresh(cfg config.JWT, keys *atomic.Pointer[keySet], label string, logger *slog.Logger, m *metrics) (*refresh, error) {
	u, err := url.Parse(cfg.JWKSURL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, &limit.FieldError{Field: "jwks_url", Problem: "is not an http or https URL: use https://issuer.example/.well-known/jwks.json, for example"}
	}
	every := cfg.Refresh()
	if every < minRefresh {
		return nil, &limit.FieldError{Field: "refresh_every", Problem: fmt.Sprintf("%s is too often: at least %s", every, minRefresh)}
	}
	return &refresh{
		url: cfg.JWKSURL, shown: u.Redacted(), every: every, keys: keys, logger: logger,
		wanted: make(chan struct{}, 1), first: make(chan struct{}),
		good: m.refreshes.WithLabelValues(label, "ok"), bad: m.refreshes.WithLabelValues(label, "error"),
		when: m.refreshed.WithLabelValues(label),
	}, nil
}

// want asks for the keys to be read soon. It never waits.
func (r *refresh) want() {
	select {
	case r.wanted <- struct{}{}:
	default:
	}
}

// run reads the keys now, when they are old, and when they are wanted, until ctx ends.
func (r *refresh) run(ctx context.Context) {
	retry := firstRetry
	timer := time.NewTimer(0)
	defer timer.Stop()
	var last, next time.Time
	if p := r.plan.Load(); p != nil { // of the Finder before this one, which has read the keys
		last, next = p.last, p.next
		timer.Reset(time.Until(next))
		close(r.first)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wanted:
			if soon := last.Add(wantedEvery); soon.Before(next) {
				next = soon
				timer.Reset(time.Until(next))
			}
			continue
		case <-timer.C:
		}
		pause := r.every
		if r.read(ctx) {
			retry = firstRetry
		} else {
			pause = min(retry, r.every)
			retry = min(2*retry, maxRetry)
		}
		first := last.IsZero()
		last = time.Now()
		next = last.Add(pause)
		r.plan.Store(&plan{last, next})
		timer.Reset(pause)
		if first {
			close(r.first) // who waits for it may take the plan over
		}
	}
}

// read reads the keys once, and says whether that went well.
func (r *refresh) read(ctx context.Context) bool {
	text, err := r.fetch(ctx)
	if err == nil {
		err = r.store(text)
	}
	if ctx.Err() == nil { // else it is because of Close
		r.note(err)
	}
	if err == nil {
		r.good.Inc()
		r.when.SetToCurrentTime()
		return true
	}
	if ctx.Err() == nil {
		r.bad.Inc()
		r.logger.Warn("cannot fetch the keys of a token issuer; the known ones stay in use", "url", r.shown, "known",
			len(r.keys.Load().list), "error", err)
	}
	return false
}

// store puts other keys in force. The same text leaves the set in force as it is, and with it what is remembered of tokens.
func (r *refresh) store(text []byte) error {
	digest := sha256.Sum256(text)
	if r.keys.Load().digest == digest {
		return nil
	}
	set, err := parseKeySet(text)
	if err != nil {
		return err
	}
	set.digest = digest
	r.keys.Store(set)
	r.logger.Info("the keys of a token issuer have changed", "url", r.shown, "keys", len(set.list))
	return nil
}

// fetch reads the text at the URL.
func (r *refresh) fetch(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := r.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %s", response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxSetBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSetBytes {
		return nil, errors.New("the answer has more than 1 MiB")
	}
	return text, nil
}
