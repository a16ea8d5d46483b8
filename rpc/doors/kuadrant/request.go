package kuadrant

import (
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

type descriptor = commonv3.RateLimitDescriptor

// A question is what all requests have.
type question interface {
	GetDomain() string
	GetDescriptors() []*descriptor
}

// What one request may have at most.
const (
	maxDescriptors = limit.MaxBatch
	maxEntries     = 100     // of a descriptor
	maxText        = 1 << 16 // bytes of a key or a value
	maxTexts       = 1 << 20 // bytes of all
)

// valuesOf are the entries of each descriptor. Of several with one key, the last one counts.
func valuesOf(r question) ([]map[string]string, error) {
	if n := len(r.GetDomain()); n > maxText {
		return nil, invalidRequest("domain: %d bytes are too many: at most %d", n, maxText)
	}
	if n := len(r.GetDescriptors()); n > maxDescriptors {
		return nil, invalidRequest("descriptors: %d are too many: at most %d", n, maxDescriptors)
	}
	all, texts := make([]map[string]string, len(r.GetDescriptors())), 0
	for i, d := range r.GetDescriptors() {
		if n := len(d.GetEntries()); n > maxEntries {
			return nil, invalidRequest("descriptors[%d].entries: %d are too many: at most %d", i, n, maxEntries)
		}
		all[i] = make(map[string]string, len(d.GetEntries()))
		for j, e := range d.GetEntries() {
			if len(e.GetKey()) > maxText || len(e.GetValue()) > maxText {
				return nil, invalidRequest("descriptors[%d].entries[%d]: a key or a value has at most %d bytes", i, j, maxText)
			}
			if texts += len(e.GetKey()) + len(e.GetValue()); texts > maxTexts {
				return nil, invalidRequest("descriptors: keys and values have more than %d bytes", maxTexts)
			}
			all[i][e.GetKey()] = e.GetValue()
		}
	}
	return all, nil
}

// The time of a reservation.
const (
	usualHold    = time.Minute // where the caller does not say, as in Limitador
	shortestHold = time.Second
)

// holdTime is how long a reservation lasts. A ttl that is negative, or no time, counts as none, as in Limitador.
func holdTime(ttl *durationpb.Duration) time.Duration {
	if ttl == nil || ttl.CheckValid() != nil || ttl.AsDuration() < 0 {
		return usualHold
	}
	return min(max(ttl.AsDuration(), shortestHold), limitfile.LongestHold)
}

// clamp is an amount as jeton counts: more than a limit can have is as much as it can have.
func clamp(amount uint64) int64 { return int64(min(amount, uint64(limit.MaxCount))) }
