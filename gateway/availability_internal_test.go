package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/gateway/config"
)

// probes are the times at which an instance was probed.
type probes struct {
	mu  sync.Mutex
	all []time.Time
}

func (p *probes) note() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, time.Now())
}

func (p *probes) times() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

// newAvailability is the availability of an instance that answers probes as up says.
func newAvailability(log *bytes.Buffer, up func() bool) (p *availability, seen *probes) {
	seen = &probes{}
	p = &availability{
		log:   slog.New(slog.NewTextHandler(log, nil)),
		downs: prometheus.NewCounter(prometheus.CounterOpts{Name: "lost_total", Help: "How often it went away."}),
	}
	p.probe = func(context.Context) error {
		seen.note()
		var err error
		if !up() {
			err = errors.New("connection refused")
		}
		p.record(err)
		return err
	}
	return p, seen
}

// An instance that is down is probed less and less often, until it is up; then nothing runs any more.
func TestAvailabilityProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var up atomic.Bool
		p, probes := newAvailability(&log, up.Load)
		gone := time.Now()
		p.record(nil)
		p.record(errors.New("no route to host"))
		p.record(errors.New("another one that was on its way"))
		if _, why := p.status(); why == nil || why.Error() != "another one that was on its way" {
			t.Errorf("it is down because of %v, which was so before", why)
		}
		<-time.After(5 * time.Minute)
		synctest.Wait()
		last := gone
		for i, at := range probes.times() {
			want := min(firstPause<<i, maxPause)
			if pause := at.Sub(last); pause < want*3/4 || pause > want*5/4 {
				t.Errorf("probe %d comes %v after the one before, want about %v", i+1, pause, want)
			}
			last = at
		}
		if n := len(probes.times()); n < 13 || n > 20 || !p.down.Load() {
			t.Errorf("%d probes in five minutes", n)
		}
		up.Store(true)
		<-time.After(maxPause * 2)
		synctest.Wait()
		p.running.Wait() // nothing runs, or the bubble is in a deadlock
		if p.down.Load() || strings.Count(log.String(), "is down") != 1 || strings.Count(log.String(), "is up again") != 1 {
			t.Errorf("down: %v, log:\n%s", p.down.Load(), &log)
		}
		if !strings.Contains(log.String(), "down=5m") || strings.Count(log.String(), "no route to host") != 1 ||
			strings.Count(log.String(), "connection refused") != 1 { // which is why it was down at last
			t.Errorf("the log does not say for how long and why:\n%s", &log)
		}
		counts := prometheus.NewRegistry()
		counts.MustRegister(p.downs)
		if lost, err := counts.Gather(); err != nil || lost[0].GetMetric()[0].GetCounter().GetValue() != 1 {
			t.Errorf("lost: %v, %v", lost, err)
		}
	})
}

// A request that got a connection all the same brings the instance back at once, and ends the probing.
func TestAvailabilityRecordsAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p, probes := newAvailability(&log, func() bool { return false })
		p.record(errors.New("connection refused"))
		<-time.After(maxPause)
		synctest.Wait()
		p.record(nil)
		p.running.Wait()
		seen := len(probes.times())
		<-time.After(10 * maxPause)
		if p.down.Load() || len(probes.times()) != seen || seen == 0 {
			t.Errorf("down: %v, %d probes and then %d", p.down.Load(), seen, len(probes.times()))
		}
	})
}

// Whoever gives up waiting for a connection says nothing of the instance.
func TestInstanceIsNotJudgedByWhoLeaves(t *testing.T) {
	at, err := newInstance("http://127.0.0.1:1", &config.Upstream{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := at.connect(ctx, at.tls, at.protocol.want); !errors.Is(err, context.Canceled) || at.availability.down.Load() {
		t.Errorf("%v, down: %v", err, at.availability.down.Load())
	}
}

// An instance that takes connections and says nothing is down once connect_within is over, TLS included.
func TestInstanceThatIsSilent(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // who connects waits in the kernel
	at, err := newInstance("https://"+l.Addr().String(), &config.Upstream{ConnectWithin: config.Duration(20 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	p, _ := newAvailability(&text, func() bool { return false })
	at.availability.log, at.availability.downs = p.log, p.downs
	defer at.close()
	_, err = at.connect(t.Context(), at.tls, at.protocol.want)
	var slow net.Error
	if _, unsent := errors.AsType[*connectError](err); !unsent || !errors.As(err, &slow) || !slow.Timeout() || !at.availability.down.Load() {
		t.Errorf("%v, down: %v", err, at.availability.down.Load())
	}
}

// Whoever closes it waits for a probe that is under way, and none follows.
func TestAvailabilityCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p, probes := newAvailability(&log, func() bool { return false })
		asked := make(chan struct{})
		p.probe = func(ctx context.Context) error {
			close(asked)
			<-ctx.Done() // as a connection that nobody answers
			return ctx.Err()
		}
		p.record(errors.New("connection refused"))
		<-asked
		p.close()
		p.record(nil)
		p.record(errors.New("connection refused, to a request that was under way"))
		p.running.Wait()
		if len(probes.times()) != 0 || !p.down.Load() {
			t.Errorf("%d probes, down: %v", len(probes.times()), p.down.Load())
		}
	})
}

// An instance that does not speak HTTP/1.1 takes no upgrades. That is no reason to pass it over, nor was nothing asked of it.
func TestInstanceThatTakesNoUpgrades(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	defer s.Close()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"acme-tls/1"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_ = conn.(*tls.Conn).HandshakeContext(t.Context())
			_ = conn.Close()
		}
	}()
	at, err := newInstance("https://"+l.Addr().String(), &config.Upstream{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	p, _ := newAvailability(&text, func() bool { return false })
	at.availability.log, at.availability.downs = p.log, p.downs
	defer at.close()
	old := at.tls.Clone()
	old.NextProtos = []string{"http/1.1"}
	_, err = at.connect(t.Context(), old, at.protocol.want)
	if _, unsent := errors.AsType[*connectError](err); err == nil || unsent || at.availability.down.Load() || !refusesProtocol(err) {
		t.Errorf("%v, down: %v", err, at.availability.down.Load())
	}
}
