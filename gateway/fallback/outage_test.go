package fallback

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
)

// TestOutageIsToldOnce logs one line when the cluster stops deciding and one when it decides again, whatever the number
// of requests, and even where only some keys cannot be decided.
func TestOutageIsToldOnce(t *testing.T) {
	var err error
	clock, log, registry := &hand{now: noon}, new(journal), prometheus.NewRegistry()
	g := guard(t, Config{Now: clock.read, Logger: slog.New(log), Registerer: registry, Checker: fake{
		check: func(context.Context, limit.Request) (limit.Decision, error) {
			return limit.Decision{Allowed: true}, err
		},
	}})
	checks := func(n int, met error) {
		err = met
		for range n {
			g.Check(t.Context(), ask("k", "open"), "")
			clock.move(time.Millisecond)
		}
	}
	told := func(want ...map[string]string) {
		t.Helper()
		if got := log.take(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("logged %v, want %v", got, want)
		}
	}
	lost := map[string]string{
		"level": "WARN", "message": "the cluster does not decide checks: on_unavailable applies", "reason": "unavailable", "error": limit.ErrUnavailable.Error(),
	}
	outage := func(want float64) {
		t.Helper()
		if got := series(t, registry)["jeton_fallback_outage"]; got != want {
			t.Errorf("the outage is %v, want %v", got, want)
		}
	}

	checks(100, nil)
	told()
	outage(0)
	checks(50, limit.ErrUnavailable)
	told(lost)
	outage(1)
	for range 10 { // some keys are decided, others are not
		checks(10, nil)
		checks(10, context.DeadlineExceeded)
	}
	told()
	checks(int(recoveryTime/time.Millisecond)-1, nil)
	told()
	outage(1)
	checks(1, nil)
	told(map[string]string{"level": "INFO", "message": "the cluster decides checks again", "outage": "249ms", "undecided_checks": "150", "reason": "unavailable", "error": limit.ErrUnavailable.Error()})
	outage(0)
	checks(1, limit.ErrUnavailable)
	told(lost)
}

// TestMistakesAreToldSeldom logs a mistake in a configuration once a minute, and not as an outage.
func TestMistakesAreToldSeldom(t *testing.T) {
	clock, log, registry := &hand{now: noon}, new(journal), prometheus.NewRegistry()
	g := guard(t, Config{
		Now: clock.read, Logger: slog.New(log), Registerer: registry, Checker: failing(fmt.Errorf("%w: lgoin", limit.ErrUnknownLimit)),
	})
	for minute := range 3 {
		for range 60 {
			if v := g.Check(t.Context(), ask("k", "lgoin"), ""); v.Source != ByDeny {
				t.Errorf("got %+v", v)
			}
			clock.move(time.Second)
		}
		lines := log.take()
		if len(lines) != 1 || lines[0]["level"] != "ERROR" || lines[0]["reason"] != "unknown_limit" {
			t.Errorf("minute %d: logged %v", minute, lines)
		}
	}
	if got := series(t, registry); got["jeton_fallback_outage"] != 0 || got["jeton_fallback_undecided_total unknown_limit"] != 180 {
		t.Errorf("counted %v", got)
	}
}
