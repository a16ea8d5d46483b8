package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/identity"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring"
)

// ready answers GET /readyz. The first line is "ready", "degraded" and why, or "not ready" and why; those after it say what is
// known of the cluster, of key sets and of limits. What is degraded keeps nobody away, unless the query asks for strict: all
// gateways would be taken out at once, and each has what its document says for that.
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
	if notReady == nil || a.limits() == nil {
		sight := a.sights.look(r.Context(), a.Gateway)
		say("cluster", sight.verdict != ring.DecidesAll, sight.said)
	}
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
	for _, set := range a.gateway.KeySets() {
		say("keys", set.Keys == 0, saidKeys(set, time.Now()))
	}
	inForce, problem := a.configured()
	if problem != nil {
		say("configuration", true, "last reload failed, the previous document stays in force: "+problem.Error())
	}
	say("configuration", false, inForce)
	if why := a.now.Load().doc.Unrouted(); why != "" {
		say("routes", true, why)
	}
	if known := a.limits(); known != nil {
		for _, p := range Problems(a.now.Load().doc, known) {
			say("limits", !p.Warning, p.String())
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

// A sight is how the cluster is, as its nodes tell.
type sight struct {
	verdict ring.Verdict
	said    string
}

const (
	// sightWithin is how long nodes may take to tell how the cluster is, and sightFor how long that is good for: whoever asks
	// for /readyz makes a gateway ask several nodes.
	sightWithin = 500 * time.Millisecond // probes wait for a second, often
	sightFor    = time.Second
)

// sights remembers the last sight.
type sights struct {
	mu   sync.Mutex // held while nodes are asked, by one for all who want to know
	at   time.Time
	last sight
}

// look is how the cluster is now, or was a moment ago.
func (s *sights) look(ctx context.Context, e *Gateway) sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() || time.Since(s.at) > sightFor {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sightWithin)
		defer cancel()
		s.last = e.ask(ctx)
		s.at = time.Now()
	}
	return s.last
}

// A seen is what the gateway reads of the cluster as a node sees it.
type seen struct {
	Node     string        `json:"node"`
	Deciding ring.Deciding `json:"deciding"`
}

// ask asks nodes how the cluster is. The best of what they tell counts: the gateway goes to whoever can decide.
func (e *Gateway) ask(ctx context.Context) sight {
	best := sight{}
	var failed []string
	for _, at := range e.client.Sightings(ctx) {
		switch s := (seen{}); {
		case at.Err == nil && json.Unmarshal(at.Status, &s) == nil && s.Deciding.Verdict != "":
			best = best.or(sight{s.Deciding.Verdict, fmt.Sprintf("%v, as reported by %s at %s", s.Deciding, s.Node, at.Address)})
		case foreign(at.Err):
			failed = append(failed, fmt.Sprintf("%s is not a jeton node: it answers gRPC with %v: %v", at.Address, status.Code(at.Err), at.Err))
		case at.Err == nil || !unanswered(at.Err): // it is alone, or does not tell
			best = best.or(sight{ring.DecidesAll, "the node at " + at.Address + " answers"})
		default:
			failed = append(failed, at.Err.Error())
		}
	}
	if best.verdict == "" {
		return sight{ring.DecidesNone, "no node can be reached: " + cmp.Or(strings.Join(failed, "; "), "none is known")}
	}
	return best
}

// or is the better of two sights.
func (s sight) or(other sight) sight {
	worth := map[ring.Verdict]int{ring.DecidesNone: 1, ring.DecidesSome: 2, ring.DecidesAll: 3}
	if worth[other.verdict] > worth[s.verdict] {
		return other
	}
	return s
}

func unanswered(err error) bool {
	return errors.Is(err, limit.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// foreign says whether an error is of something that is no node, such as the proxy of a gateway: nodes have the method that was called,
// and answer with a status of their own.
func foreign(err error) bool {
	s, told := status.FromError(err)
	return told && (s.Code() == codes.Unimplemented || s.Code() == codes.Unknown)
}
