package actor

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

const leasedLimits = `
limits:
  api:    {capacity: 100, refill: 10/s, consistency: leased, plans: {pro: {capacity: 200, refill: 20/s}}, overrides: [{key: blocked, deny: true}, {key: special, capacity: 50}]}
  strong: {capacity: 100, refill: 10/s}
  hot:    {capacity: 1000, refill: 1000/s, hot: lease}
`

// forLease asks for a lease, as an edge whose clock is that far ahead.
func forLease(s *System, key, name string, ahead time.Duration) limit.Request {
	rule, _ := s.cfg.Limits().Rule(name)
	return limit.Request{Key: key, Limits: []limit.Ref{limit.Named(name)}, Cost: 10, Lease: &limit.LeaseAsk{
		Life: time.Second, Now: s.cfg.Now() + int64(ahead), Terms: rule.LeaseTerms(), Edge: "edge",
	}}
}

func TestLeaseIsGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{Limits: fixed(document(t, leasedLimits))})
		defer s.Close()
		r := forLease(s, "k", "api", 0)
		d, err := s.Check(t.Context(), r)
		now := s.cfg.Now()
		if err != nil || !d.Allowed || d.Lease == nil || d.Lease.End-d.Lease.Start != int64(time.Second) || d.Lease.Now != now || d.Lease.Until != d.Lease.End {
			t.Fatalf("%+v, %v", d, err)
		}
		o := d.Limits[0]
		if o.Leased != 10 || o.Remaining != 90 {
			t.Errorf("the limit says %+v", o)
		}
		in, err := s.Inspect(t.Context(), "k", limit.Named("api"), "")
		if err != nil || len(in.Leases) != 1 || in.Leases[0].Edge != "edge" || in.LeasedTokens(&in.Leases[0]) != 10 {
			t.Errorf("shown as %+v, %v", in.Leases, err)
		}
		back, err := s.Return(t.Context(), "k", []limit.Receipt{d.Lease.Tail(d.Lease.Start + int64(400*time.Millisecond))})
		if err != nil || !back[0] {
			t.Errorf("the tail comes back: %v, %v", back, err)
		}
		if d, err = s.Check(t.Context(), limit.Request{Key: "k", Look: true, Limits: r.Limits}); err != nil || d.Limits[0].Leased != 4 || d.Limits[0].Remaining != 96 {
			t.Errorf("when six came back: %+v, %v", d.Limits, err)
		}
		<-time.After(2 * time.Second)
		if d, err = s.Check(t.Context(), limit.Request{Key: "k", Look: true, Limits: r.Limits}); err != nil || d.Limits[0].Leased != 0 || d.Limits[0].Remaining != 100 {
			t.Errorf("when it is over: %+v, %v", d.Limits, err)
		}
		r = forLease(s, "k", "api", 0)
		r.Plan = "pro"
		pro, _ := s.cfg.Limits().Plan("api", "pro")
		r.Lease.Terms = pro.Rule.LeaseTerms()
		if d, err = s.Check(t.Context(), r); err != nil || d.Lease == nil || d.Lease.End-d.Lease.Start != int64(time.Second)/2 {
			t.Errorf("by a plan: %+v, %v", d, err)
		}
	})
}

// Who knows no positions gets line that begins when it may spend it no more, and is shown with it until then.
func TestLeaseToWhoKnowsNoPositions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{Limits: fixed(document(t, leasedLimits))})
		defer s.Close()
		r := forLease(s, "k", "api", 0)
		r.Lease.After = 3 * time.Second
		d, err := s.Check(t.Context(), r)
		if after := s.cfg.Now() + int64(3*time.Second); err != nil || d.Lease == nil || d.Lease.Start != after || d.Lease.End != after+int64(time.Second) || d.Lease.Until != after {
			t.Fatalf("%+v, %v", d, err)
		}
		if o := d.Limits[0]; o.Leased != 10 || o.Remaining != 60 {
			t.Errorf("the limit says %+v", o)
		}
		<-time.After(3 * time.Second)
		if d, err = s.Check(t.Context(), limit.Request{Key: "k", Look: true, Limits: r.Limits}); err != nil || d.Limits[0].Leased != 0 || d.Limits[0].Remaining != 90 {
			t.Errorf("when it is over: %+v, %v", d.Limits, err)
		}
	})
}

// What is not leased, or to whom not, is an error that says why.
func TestLeaseRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, Config{Limits: fixed(document(t, leasedLimits))})
		defer s.Close()
		other := forLease(s, "k", "api", 0)
		other.Lease.Terms++
		for _, c := range []struct {
			what string
			r    limit.Request
			want string // of the error
		}{
			{"a strong limit", forLease(s, "k", "strong", 0), `lease: limit "strong" is not leased`},
			{"other numbers", other, "lease.terms: are not those by which this node decides"},
			{"an override of numbers", forLease(s, "special", "api", 0), "lease.terms: are not"},
			{"an override that denies", forLease(s, "blocked", "api", 0), "lease: an override of the key decides"},
			{"the clock is ahead", forLease(s, "k", "api", 251*time.Millisecond), "lease.now: differs from this node's clock by 251ms"},
			{"the clock is behind", forLease(s, "k", "api", -251*time.Millisecond), "lease.now: differs from this node's clock by -251ms"},
		} {
			d, err := s.Check(t.Context(), c.r)
			var wrong *limit.FieldError
			if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: %+v, %v, want %q", c.what, d, err, c.want)
			}
		}
		if _, err := s.Check(t.Context(), forLease(s, "k", "api", 250*time.Millisecond)); err != nil {
			t.Errorf("a clock that is not off by more than may be: %v", err)
		}
	})
}

// A lease that was asked for while its key was hot keeps it hot, though replicas have answered when that time had just ended.
func TestLeaseThatWaitedKeepsTheKeyHot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		replica := &slowReplica{Replica: newRegisters(bubbleClock)}
		s := start(t, Config{Limits: fixed(document(t, leasedLimits)), Now: bubbleClock, Replicas: []Replica{replica}, Shards: 1})
		heat := &s.shards[0].heat
		heat.lease("k", bubbleClock()-int64(leaseFor)+int64(100*time.Millisecond))
		answered := make(chan limit.Decision, 1)
		go func() {
			d, err := s.Check(t.Context(), forLease(s, "k", "hot", 0))
			if err != nil {
				t.Error(err)
			}
			answered <- d
		}()
		pass(200 * time.Millisecond)
		for replica.answer() {
		}
		if d := <-answered; d.Lease == nil {
			t.Fatalf("there is no lease: %+v", d)
		}
		if until := heat.leased["k"]; until <= bubbleClock() {
			t.Errorf("the key is hot until %v from now", time.Duration(until-bubbleClock()))
		}
	})
}

// Edges get leases of a limit that is leased when hot once its key is, and for some seconds afterwards.
func TestLeaseWhenHot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewRegistry()
		s := start(t, Config{Limits: fixed(document(t, leasedLimits)), Now: bubbleClock, Metrics: reg})
		leased := func(key string) bool {
			t.Helper()
			d, err := s.Check(t.Context(), forLease(s, key, "hot", 0))
			if err != nil || d.Allowed != (d.Lease != nil) || d.Limits[0].Name != "hot" || d.Limits[0].Limit != 1000 {
				t.Fatalf("%+v, %v", d, err)
			}
			return d.Lease != nil
		}
		if leased("k") {
			t.Error("a key that was never checked is leased")
		}
		for range 120 {
			decide(t, s, spend("k", 1, "hot"))
			pass(5 * time.Millisecond)
		}
		if !leased("k") || leased("other") {
			t.Error("the hot key is not leased, or another one is")
		}
		pass(4 * time.Second)
		if !leased("k") {
			t.Error("four seconds after a lease there is no other one")
		}
		pass(leaseFor + heatWindow)
		if leased("k") {
			t.Error("a key that was not hot for long is leased")
		}
		if given, cold := count(t, reg, "jeton_leases_total", "given"), count(t, reg, "jeton_leases_total", "cold"); given != 2 || cold != 3 {
			t.Errorf("%v were given and %v were cold", given, cold)
		}
	})
}
