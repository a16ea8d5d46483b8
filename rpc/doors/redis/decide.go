package redis

import (
	"context"

	"github.com/jeton-dev/jeton/actor/limit"
)

// decide has one check decided, and counts it.
func (s *session) decide(ctx context.Context, name string, c *check) (limit.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	d, err := s.cfg.Limiter.Check(ctx, c.request)
	s.commands[name].decided(d.Allowed && !c.never, err)
	if err != nil {
		return d, s.failure(err, c)
	}
	return d, nil
}

// decideAll has the checks that wait decided together, and writes their answers in order. What ends meanwhile is told by errors.
func (s *session) decideAll(ctx context.Context) {
	if len(s.waiting) == 0 {
		return
	}
	defer s.waits.Add(-int64(len(s.waiting))) // after a panic too
	ctx, cancel := context.WithTimeout(ctx, decideWithin)
	defer cancel()
	var results []limit.Result
	if len(s.waiting) == 1 {
		d, err := s.cfg.Limiter.Check(ctx, s.waiting[0].request)
		results = []limit.Result{{Decision: d, Err: err}}
	} else {
		requests := make([]limit.Request, len(s.waiting))
		for i := range s.waiting {
			requests[i] = s.waiting[i].request
		}
		results = s.cfg.Limiter.CheckBatch(ctx, requests)
	}
	for i := range s.waiting {
		w, result := &s.waiting[i], &results[i]
		w.command.decided(result.Decision.Allowed && !w.never, result.Err)
		if result.Err != nil {
			s.refuse(w.command.name, s.failure(result.Err, w.check))
			continue
		}
		w.answer(&s.out, &result.Decision)
		w.command.answered.Inc()
	}
	clear(s.waiting)
	s.waiting = s.waiting[:0]
}

// decided counts a check.
func (c *command) decided(yes bool, err error) {
	switch {
	case err != nil:
		c.undecided.Inc()
	case yes:
		c.allowed.Inc()
	default:
		c.denied.Inc()
	}
}

// refuse answers a command with an error.
func (s *session) refuse(name string, err error) {
	s.out.fail(err)
	s.metrics.commands.WithLabelValues(name, refused).Inc()
}
