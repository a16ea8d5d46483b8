package xds

import (
	"errors"
	"fmt"
	"strings"

	configv3 "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// typeURL names the type of the resources.
const typeURL = "type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig"

// maxNested is how deep messages of a resource may be nested. Descriptors are refused before that.
const maxNested = 100

// errUnknown refuses what may say something about decisions that is not understood.
var errUnknown = errors.New("has a field that is not known here: it is of a newer version of Envoy's rate limit service, and what it asks for would not be done")

// decode makes resources of what an answer holds.
func decode(all []*anypb.Any) ([]descriptors.Resource, error) {
	made := make([]descriptors.Resource, 0, len(all))
	for i, one := range all {
		if one.GetTypeUrl() != typeURL {
			return nil, fmt.Errorf("resource %d: is of the type %.100q, and not of %s", i+1, one.GetTypeUrl(), typeURL)
		}
		var m configv3.RateLimitConfig
		if err := (proto.UnmarshalOptions{RecursionLimit: maxNested}).Unmarshal(one.GetValue(), &m); err != nil {
			return nil, fmt.Errorf("resource %d: is no %s: %w", i+1, typeURL, err)
		}
		r, err := resourceOf(&m)
		if err != nil {
			return nil, fmt.Errorf("resource %d, %.100q: %w", i+1, m.GetName(), err)
		}
		made = append(made, r)
	}
	return made, nil
}

func resourceOf(m *configv3.RateLimitConfig) (r descriptors.Resource, err error) {
	r = descriptors.Resource{Name: m.GetName(), Domain: m.GetDomain()}
	if r.Descriptors, err = descriptorsOf(m.GetDescriptors()); err == nil {
		err = known(m)
	}
	return r, err
}

func descriptorsOf(all []*configv3.RateLimitDescriptor) ([]descriptors.Descriptor, error) {
	made := make([]descriptors.Descriptor, 0, len(all))
	for _, m := range all {
		d := descriptors.Descriptor{Key: m.GetKey(), Value: m.GetValue(), Shadow: m.GetShadowMode(), Quota: m.GetQuotaMode(), Detailed: m.GetDetailedMetric()}
		nested, err := descriptorsOf(m.GetDescriptors())
		if err != nil {
			return nil, err
		}
		d.Descriptors = nested
		if p := m.GetRateLimit(); p != nil {
			if err := known(p); err != nil {
				return nil, fmt.Errorf("the limit of the descriptor %.100q: %w", m.GetKey(), err)
			}
			d.Rate = rateOf(p)
		}
		if err := known(m); err != nil {
			return nil, fmt.Errorf("the descriptor %.100q: %w", m.GetKey(), err)
		}
		made = append(made, d)
	}
	return made, nil
}

func rateOf(p *configv3.RateLimitPolicy) *descriptors.Rate {
	r := &descriptors.Rate{Requests: p.GetRequestsPerUnit(), Unlimited: p.GetUnlimited(), Name: p.GetName()}
	if u := p.GetUnit(); u != configv3.RateLimitUnit_UNKNOWN {
		r.Unit = u.String()
	}
	for _, other := range p.GetReplaces() {
		r.Replaces = append(r.Replaces, other.GetName())
	}
	return r
}

// known refuses a message with fields that are not.
func known(m proto.Message) error {
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		return errUnknown
	}
	return nil
}

// maxReason is how many bytes of a reason are sent.
const maxReason = 4 << 10

// reason is an error as the server is told, whose text may quote what is not UTF-8.
func reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "?")
}
