package standin

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"
)

// healthService is the name by which envoyproxy/ratelimit is asked over the health protocol of gRPC.
const healthService = "ratelimit"

// rlsService is the one that Envoy calls.
const rlsService = "envoy.service.ratelimit.v3.RateLimitService"

// lookEveryHealth is how often the health is looked at.
const lookEveryHealth = 250 * time.Millisecond

// Healthy says why calls are not to come here; nil if they are. The buckets count until they could be asked once: what comes later is the answer to each call.
func (s *Service) Healthy() error {
	select {
	case <-s.stopping:
		return errors.New("it is stopping")
	default:
	}
	if why := s.unasked.Load(); why != nil {
		return errors.New("the buckets could not be asked yet: " + *why)
	}
	domains, inForce := s.rules.Domains()
	switch {
	case !inForce && !s.settings.AtOnce:
		return errors.New(cmp.Or(strings.TrimPrefix(s.rules.Problem(), "rls: "), "no rules are in force yet"))
	case domains == 0 && s.settings.NotBare:
		return errors.New("the rules in force have no domain")
	}
	return nil
}

// watch tells clients of the health protocol, until ctx ends.
func (s *Service) watch(ctx context.Context) {
	ticker := time.NewTicker(lookEveryHealth)
	defer ticker.Stop()
	told := ""
	for {
		if s.unasked.Load() != nil {
			s.probe(ctx)
		}
		says := ""
		err := s.Healthy()
		if err != nil {
			says = err.Error()
		}
		for _, name := range []string{"", healthService, rlsService} {
			s.grpc.SetServing(name, err == nil)
		}
		if says != told {
			told = says
			if err == nil {
				s.log.Info("healthy")
			} else {
				s.log.Warn("not healthy", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// probe asks the buckets.
func (s *Service) probe(ctx context.Context) {
	err := s.buckets.probe(ctx)
	if err == nil {
		s.unasked.Store(nil)
		return
	}
	says := err.Error()
	s.unasked.Store(&says)
}
