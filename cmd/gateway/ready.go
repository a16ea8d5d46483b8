package gateway

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/doors"
)

// ready answers GET /readyz. The first line is "ready", "degraded" and why, or "not ready" and why; the lines after it report the
// cluster, upstreams, key sets and limits. A degraded gateway answers 200, unless the query has strict: otherwise an outage of the
// cluster would take all gateways out of the load balancer at once, although each applies the on_unavailable of its limits.
func (a *admin) ready(w http.ResponseWriter, r *http.Request) {
	var lines, wrong []string
	say := func(what string, bad bool, said string) {
		line := what + ": " + plain.Lines(said)
		lines = append(lines, line)
		if bad {
			wrong = append(wrong, line)
		}
	}
	notReady := a.Ready()
	for i, sight := range a.look(r.Context(), notReady == nil) {
		if sight.said != "" {
			say("cluster"+called(a.clusters[i].name), sight.verdict != ring.DecidesAll, sight.said)
		}
	}
	a.sayUpstreams(say)
	for _, set := range a.gateway.KeySets() {
		say("keys", set.Keys == 0, saidKeys(set, time.Now()))
	}
	inForce, problem := a.configured()
	if problem != nil {
		say("configuration", true, "last reload failed, the previous document stays in force: "+problem.Error())
	}
	say("configuration", false, inForce)
	for _, problem := range doors.Problems(a.services) {
		say("doors", true, problem)
	}
	if why := a.now.Load().doc.Unrouted(); why != "" {
		say("routes", true, why)
	}
	for _, c := range a.clusters {
		if known := c.limits(); known != nil {
			for _, p := range Problems(a.now.Load().doc, c.name, known) {
				say("limits"+of(c.name), !p.Warning, p.String())
			}
		}
	}
	first, status := "ready", http.StatusOK
	switch {
	case notReady != nil:
		first, status = "not ready: "+plain.Lines(notReady.Error()), http.StatusServiceUnavailable
	case len(wrong) > 0:
		first = "degraded: " + wrong[0]
		if more := len(wrong) - 1; more > 0 {
			first += fmt.Sprintf(", and %d more below", more)
		}
		if r.URL.Query().Has("strict") {
			status = http.StatusServiceUnavailable
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	for _, line := range append([]string{first}, lines...) {
		fmt.Fprintln(w, line)
	}
}

// look asks the clusters for their states, all at once: of all, or of those that have not sent their limits.
func (a *admin) look(ctx context.Context, all bool) []sight {
	seen := make([]sight, len(a.clusters))
	var looking sync.WaitGroup
	for i, c := range a.clusters {
		if all || c.limits() == nil {
			looking.Go(func() { seen[i] = c.sights.look(ctx, c.ask) })
		}
	}
	looking.Wait()
	return seen
}

// sayUpstreams says what is wrong with upstreams.
func (a *admin) sayUpstreams(say func(what string, bad bool, said string)) {
	for _, u := range a.gateway.Upstreams() {
		for _, at := range u.Down {
			say("upstream "+u.Name, true, at.URL+" is down: it accepts no connections, since "+plain.Duration(time.Since(at.Since).Truncate(time.Second))+": "+at.Why.Error())
		}
		for _, at := range u.Unresponsive {
			say("upstream "+u.Name, true, fmt.Sprintf("%s is unresponsive, since %s: the last %d requests timed out",
				at.URL, plain.Duration(time.Since(at.Since).Truncate(time.Second)), at.Requests))
		}
		for _, why := range u.WrongProtocol {
			say("upstream "+u.Name, true, why)
		}
	}
}

// of says which cluster something is of; nothing for the one without a name.
func of(cluster string) string {
	if cluster == "" {
		return ""
	}
	return " of " + cluster
}

// saidKeys is what is known of a key set, in words.
func saidKeys(s identity.KeySet, now time.Time) string {
	text := fmt.Sprintf("%s: %d keys", s.URL, s.Keys)
	switch s.Keys {
	case 0:
		text = s.URL + ": no keys, so no token of this issuer is valid"
	case 1:
		text = s.URL + ": 1 key"
	}
	if !s.Read.IsZero() {
		text += ", read " + plain.Duration(now.Sub(s.Read).Truncate(time.Second)) + " ago"
	}
	if s.Err != nil {
		text += fmt.Sprintf("; fetching them failed %s ago: %v", plain.Duration(now.Sub(s.Failed).Truncate(time.Second)), s.Err)
	}
	return text
}
