package rls

import (
	"math"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// What one request may have at most.
const (
	maxDescriptors = limit.MaxBatch
	maxEntries     = 100     // of a descriptor
	maxText        = 1 << 16 // bytes of a key or a value
)

// hits are what the descriptor at i adds: its own number, or that of the request, or 1.
func hits(i int, d *commonv3.RateLimitDescriptor, r *ratelimitv3.RateLimitRequest) (int64, error) {
	own := d.GetHitsAddend()
	switch {
	case own == nil:
		return int64(max(1, r.GetHitsAddend())), nil
	case own.GetValue() > math.MaxInt64:
		return 0, invalid("descriptors[%d].hits_addend: %d is too large: at most %d", i, own.GetValue(), int64(math.MaxInt64))
	}
	return int64(own.GetValue()), nil
}

// namesHits says whether the request names the hits of a descriptor.
func namesHits(d *commonv3.RateLimitDescriptor, r *ratelimitv3.RateLimitRequest) bool {
	return d.GetHitsAddend() != nil || r.GetHitsAddend() > 0
}

// entries appends the entries of the descriptor at i to to.
func entries(to []descriptors.Entry, i int, d *commonv3.RateLimitDescriptor) ([]descriptors.Entry, error) {
	if n := len(d.GetEntries()); n > maxEntries {
		return nil, invalid("descriptors[%d].entries: %d are too many: at most %d", i, n, maxEntries)
	}
	for j, e := range d.GetEntries() {
		if len(e.GetKey()) > maxText || len(e.GetValue()) > maxText {
			return nil, invalid("descriptors[%d].entries[%d]: a key or a value has at most %d bytes", i, j, maxText)
		}
		to = append(to, descriptors.Entry{Key: e.GetKey(), Value: e.GetValue()})
	}
	return to, nil
}
