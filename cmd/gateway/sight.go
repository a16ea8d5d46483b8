package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
)

// A sight is the state of the cluster, as its nodes report it.
type sight struct {
	verdict ring.Verdict
	said    string
}

const (
	// sightWithin is the timeout of the requests to nodes, and sightFor how long their answer is cached: without the cache, each
	// GET of /readyz would cost requests to several nodes.
	sightWithin = 500 * time.Millisecond // health probes often have a timeout of 1 s
	sightFor    = time.Second
)

// sights caches the last sight.
type sights struct {
	mu   sync.Mutex // held during the requests to nodes: concurrent callers share one answer
	at   time.Time
	last sight
}

// look returns the cached sight, or asks for a new one when it is older than sightFor.
func (s *sights) look(ctx context.Context, ask func(context.Context) sight) sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() || time.Since(s.at) > sightFor {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sightWithin)
		defer cancel()
		s.last = ask(ctx)
		s.at = time.Now()
	}
	return s.last
}

// A seen is the part of a node's status that the gateway reads.
type seen struct {
	Node     string        `json:"node"`
	Deciding ring.Deciding `json:"deciding"`
}

// ask asks nodes for the state of the cluster. The best answer counts: the gateway sends its checks to a node that can decide.
func (c *cluster) ask(ctx context.Context) sight {
	best := sight{}
	var failed []string
	for _, at := range c.client.Sightings(ctx) {
		switch s := (seen{}); {
		case at.Err == nil && json.Unmarshal(at.Status, &s) == nil && s.Deciding.Verdict != "":
			best = best.or(sight{s.Deciding.Verdict, fmt.Sprintf("%v, as reported by %s at %s", s.Deciding, s.Node, at.Address)})
		case foreign(at.Err):
			failed = append(failed, fmt.Sprintf("%s is not a jeton node: it answers gRPC with %v: %v", at.Address, status.Code(at.Err), at.Err))
		case errors.Is(at.Err, limit.ErrUnauthenticated): // it takes no check either
			failed = append(failed, fmt.Sprintf("%s refuses this gateway: %v", at.Address, at.Err))
		case at.Err == nil || !unanswered(at.Err): // the node is alone, or has no status to report
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

// foreign says whether an error comes from a server that is not a jeton node, such as the proxy of a gateway: nodes implement the
// method, and answer with other codes.
func foreign(err error) bool {
	s, ok := status.FromError(err)
	return ok && (s.Code() == codes.Unimplemented || s.Code() == codes.Unknown)
}
