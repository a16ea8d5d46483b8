package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	measured "github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
)

const (
	// tellEvery is how often a gateway tells its cluster what it does, and tellWithin how long that may take.
	tellEvery  = 2 * time.Second
	tellWithin = time.Second
	// tellLater is when it tries again after the node that it asked did not know the call, or did not take it from this gateway.
	tellLater = time.Minute
)

// startTelling tells the cluster what the gateway does, until it is closed, and then that it leaves.
func (e *Gateway) startTelling() {
	if len(e.clusters) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.tellAll(ctx)
	}()
	e.closers.Add(func(ctx context.Context) error {
		cancel()
		<-ended
		e.tell(ctx, &activity.Gateway{Name: e.now.Load().doc.GatewayName(), Leaves: true}) //nolint:errcheck // it is forgotten later then
		return nil
	})
}

// tellAll tells until ctx ends. What was not heard is not logged: the next time comes soon, and has all that this one had.
func (e *Gateway) tellAll(ctx context.Context) {
	timer := time.NewTimer(tellEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		pause := tellEvery
		if err := e.tellOnce(ctx); errors.Is(err, client.ErrOlderNode) || errors.Is(err, limit.ErrUnauthenticated) {
			pause = tellLater
		}
		timer.Reset(pause)
	}
}

// tellOnce tells the first cluster what the gateway does.
func (e *Gateway) tellOnce(ctx context.Context) error {
	told, err := e.activity()
	if err != nil {
		return err
	}
	return e.tell(ctx, told)
}

// tell tells one node of the first cluster something.
func (e *Gateway) tell(ctx context.Context, told *activity.Gateway) error {
	text, err := fitting(told)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	return e.clusters[0].client.Tell(ctx, text)
}

// fitting is what a gateway tells, as JSON. What a node would not take in for its length is told without the limits of which there is least to
// tell: by which fewest requests have passed or been refused without a decision, and then by which it has decided least itself.
func fitting(told *activity.Gateway) ([]byte, error) {
	names := told.LimitNames()
	undecided := func(name string) float64 { return told.FailedOpen[name] + told.FailedClosed[name] }
	own := func(name string) float64 { return told.Limits[name].Allowed + told.Limits[name].Denied }
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(undecided(b), undecided(a)), cmp.Compare(own(b), own(a)))
	})
	for {
		text, err := json.Marshal(told)
		if err != nil || len(text) <= activity.MaxTold || len(names) == 0 {
			return text, err
		}
		told.Partial = true
		rest := names[len(names)/2:]
		names = names[:len(names)/2]
		for _, name := range rest {
			delete(told.FailedOpen, name)
			delete(told.FailedClosed, name)
			delete(told.Limits, name)
		}
	}
}

// activity is what the gateway has done since it started: all of its requests, and of the limits those of the cluster that it tells.
func (e *Gateway) activity() (*activity.Gateway, error) {
	families, err := e.metrics.Gather()
	if err != nil {
		return nil, err
	}
	g := &activity.Gateway{
		Name: e.now.Load().doc.GatewayName(), Version: activity.Version(), Started: e.opened, Admin: e.AdminAddr(),
		Requests: map[string]float64{}, FailedOpen: map[string]float64{}, FailedClosed: map[string]float64{}, Limits: map[string]activity.Counts{},
	}
	ofCluster := func(shown string) (string, bool) { return config.LimitShown(e.clusters[0].name, shown) }
	for _, f := range families {
		switch f.GetName() {
		case "jeton_gateway_requests_total":
			sum(g.Requests, f, "outcome", func(outcome string) (string, bool) { return outcome, true })
		case "jeton_gateway_fail_open_total":
			sum(g.FailedOpen, f, "limit", ofCluster)
		case "jeton_gateway_fail_closed_total":
			sum(g.FailedClosed, f, "limit", ofCluster)
		case "jeton_gateway_own_decisions_total":
			for _, m := range f.GetMetric() {
				addOwn(g.Limits, m, ofCluster)
			}
		case "jeton_gateway_decision_seconds":
			g.Latency.Bounds, g.Latency.Counts = measured.BucketsOf(f.GetMetric()[0].GetHistogram())
		}
	}
	return g, nil
}

// addOwn adds one counter of decisions of the gateway itself.
func addOwn(into map[string]activity.Counts, m *dto.Metric, named func(shown string) (name string, ok bool)) {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	name, ok := named(labels["limit"])
	n := m.GetCounter().GetValue()
	if !ok || n == 0 {
		return
	}
	c := into[name]
	switch labels["outcome"] {
	case "allowed":
		c.Allowed += n
	case "denied":
		c.Denied += n
	case "spared":
		c.Spared += n
	}
	into[name] = c
}

// sum adds up the counters of a family by the names of one label, without those that have no name and those that have counted nothing.
func sum(into map[string]float64, f *dto.MetricFamily, label string, named func(value string) (name string, ok bool)) {
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if n := m.GetCounter().GetValue(); l.GetName() == label && n > 0 {
				if name, ok := named(l.GetValue()); ok {
					into[name] += n
				}
			}
		}
	}
}
