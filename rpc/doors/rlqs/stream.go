package rlqs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	// maxAsks is how many asks of one stream are under way.
	maxAsks = 16
	// maxUsages is how many buckets one report may have.
	maxUsages = 20_000
	// silence is how long a stream may bring no report. Envoy reports every five seconds, also where it has no buckets.
	silence = int64(5 * time.Minute)
	// firstWithin is how long the first one may take, which Envoy sends at once.
	firstWithin = int64(10 * time.Second)
)

// A stream is that of one Envoy.
type stream struct {
	door  *Door
	envoy string // its address, for people
	conn  rlqsv3.RateLimitQuotaService_StreamRateLimitQuotasServer
	subs  *subscriptions

	domain  string // that its first report has named
	asking  int
	asks    sync.WaitGroup
	answers chan answer
}

// StreamRateLimitQuotas implements rlqsv3.RateLimitQuotaServiceServer. It ends when Envoy ends it, sends what is invalid, or does not read; or with the server.
func (s service) StreamRateLimitQuotas(conn rlqsv3.RateLimitQuotaService_StreamRateLimitQuotasServer) error {
	d, from := s.door, hostOf(conn.Context())
	if !d.streams.take(from) {
		return status.Errorf(codes.ResourceExhausted, "%d Envoys have a stream open here, or %d of one address: connect to another node", maxStreams, maxStreams/4)
	}
	defer d.streams.leave(from)
	d.counts.streams.Inc()
	defer d.counts.streams.Dec()
	ctx, cancel := context.WithCancel(conn.Context())
	of := &stream{door: d, envoy: "envoy " + address(ctx), conn: conn, subs: d.newSubscriptions(from), answers: make(chan answer, maxAsks)}
	defer of.subs.close()
	defer of.asks.Wait()
	defer cancel()
	return of.run(ctx)
}

// address is that of who asks.
func address(ctx context.Context) string {
	text := "?"
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		text = p.Addr.String()
	}
	return text[:min(len(text), limit.MaxEdge-len("envoy "))]
}

// hostOf is the address of who asks, without a port.
func hostOf(ctx context.Context) string {
	text := address(ctx)
	if host, _, err := net.SplitHostPort(text); err == nil {
		return host
	}
	return text
}

// read hands what Envoy reports over to run, and its end. It ends when the stream has.
func (s *stream) read(ctx context.Context, reports chan<- *rlqsv3.RateLimitQuotaUsageReports, end chan<- error) {
	for {
		m, err := s.conn.Recv()
		if err != nil {
			end <- err
			return
		}
		select {
		case reports <- m:
		case <-ctx.Done():
			return
		}
	}
}

// send sends messages until there are no more, or the stream has ended. It says when it is ready for one, so that none is made before: Envoy that does not read gets nothing that is old.
func (s *stream) send(ready chan<- struct{}, messages <-chan *rlqsv3.RateLimitQuotaResponse, end chan<- error) {
	for {
		select {
		case ready <- struct{}{}:
		case <-messages: // closed: run has ended
			return
		}
		m := <-messages
		if m == nil {
			continue
		}
		if err := s.conn.Send(m); err != nil {
			end <- err
			return
		}
	}
}

// run steps the subscriptions.
func (s *stream) run(ctx context.Context) error {
	reports, messages, end := make(chan *rlqsv3.RateLimitQuotaUsageReports), make(chan *rlqsv3.RateLimitQuotaResponse, 1), make(chan error, 2)
	ready := make(chan struct{})
	s.door.running.Go(func() { s.read(ctx, reports, end) })
	s.door.running.Go(func() { s.send(ready, messages, end) })
	defer close(messages)
	timer := time.NewTimer(0)
	defer timer.Stop()
	heard, patience := s.door.now(), firstWithin
	for {
		s.step(ctx)
		incoming, outgoing := reports, ready
		if s.full() {
			incoming = nil
		} else if s.asking < maxAsks {
			timer.Reset(time.Duration(max(min(s.subs.next(), heard+patience)-s.door.now(), 0)))
		}
		if len(s.subs.out) == 0 {
			outgoing = nil
		}
		select {
		case m := <-incoming:
			heard, patience = s.door.now(), silence
			if err := s.report(m); err != nil {
				s.door.counts.reports.WithLabelValues(invalid).Inc()
				return err
			}
		case <-outgoing:
			messages <- s.message()
		case a := <-s.answers:
			s.asking--
			if !s.subs.answered(s.door.now(), &a) && a.lease != nil {
				s.door.counts.late.Inc()
			}
		case <-timer.C:
			if s.door.now() >= heard+patience {
				return status.Errorf(codes.DeadlineExceeded, "no report came for %v: Envoy opens a stream again with its next one", time.Duration(patience))
			}
		case err := <-end:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		case <-ctx.Done():
			return status.Error(codes.Unavailable, "the server is stopping: connect again")
		}
	}
}

// full says that a whole message waits to be sent: nothing more is read or asked for until Envoy reads.
func (s *stream) full() bool { return len(s.subs.out) >= maxActions }

// report takes in a message, or says what is wrong with it.
func (s *stream) report(m *rlqsv3.RateLimitQuotaUsageReports) error {
	switch usages := m.GetBucketQuotaUsages(); {
	case s.domain == "" && m.GetDomain() == "":
		return status.Error(codes.InvalidArgument, "domain: is missing: set domain in Envoy's rate_limit_quota filter")
	case s.domain != "" && m.GetDomain() != "" && m.GetDomain() != s.domain:
		return status.Error(codes.InvalidArgument, "domain: is another one than in the first report: open a stream for each")
	case len(usages) > maxUsages:
		return status.Errorf(codes.ResourceExhausted, "bucket_quota_usages: %d are too many: at most %d in a report", len(usages), maxUsages)
	}
	if s.domain == "" {
		s.domain = m.GetDomain()
	}
	now, wall, doc := s.door.now(), time.Now().UnixNano(), s.door.cfg.Limits()
	for i, of := range m.GetBucketQuotaUsages() {
		u := usageOf(of)
		if len(u.id.GetBucket()) == 0 {
			return status.Error(codes.InvalidArgument, fmt.Sprintf("bucket_quota_usages[%d].bucket_id: is missing: set bucket_id_builder in Envoy's rate_limit_quota filter", i))
		}
		s.door.counts.allowed.Add(float64(u.allowed))
		s.door.counts.denied.Add(float64(u.denied))
		s.subs.report(now, wall, u, doc)
	}
	s.door.counts.reports.WithLabelValues(taken).Inc()
	return nil
}

// step asks for what is due.
func (s *stream) step(ctx context.Context) {
	if s.asking == maxAsks || s.full() {
		return
	}
	for _, a := range s.subs.step(s.door.now(), time.Now().UnixNano(), s.door.cfg.Limits(), maxAsks-s.asking) {
		s.asking++
		s.asks.Go(func() { s.answers <- s.door.line(ctx, a, s.envoy) })
	}
}

// message is the next one for Envoy; nil for none. What is too late to be assigned is left to time, which brings it back.
func (s *stream) message() *rlqsv3.RateLimitQuotaResponse {
	var m *rlqsv3.RateLimitQuotaResponse
	now, done := s.door.now(), 0
	for done < len(s.subs.out) && len(m.GetBucketAction()) < maxActions {
		a := &s.subs.out[done]
		done++
		if a.by != 0 && now >= a.by {
			s.door.counts.late.Inc()
			s.subs.late(now, a.of)
			continue
		}
		if m == nil {
			m = new(rlqsv3.RateLimitQuotaResponse)
		}
		m.BucketAction = append(m.BucketAction, a.wire())
		s.door.counts.actions.WithLabelValues(a.kind()).Inc()
		if a.of != nil {
			s.door.counts.assigned.Add(float64(debit(int64(a.strategy.GetTokenBucket().GetMaxTokens()), a.life)))
		}
	}
	if s.subs.out = s.subs.out[done:]; len(s.subs.out) == 0 {
		s.subs.out = nil
	}
	return m
}
