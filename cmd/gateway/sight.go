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
