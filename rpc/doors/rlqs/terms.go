package rlqs

import (
	"github.com/jeton-dev/jeton/actor/limit"
)

// terms are those by which assignments of a bucket are made.
type terms struct {
	rule *limit.Rule
	life int64
}

// A refusal is why nothing is assigned to a bucket, whatever is left. It is a label of metrics.
type refusal string

// The refusals.
const (
	refusedID       refusal = "bucket_id"
	refusedUnknown  refusal = "unknown_limit"
	refusedStrong   refusal = "not_leased"
	refusedShort    refusal = "too_short"
	refusedOverride refusal = "override"
	refusedFull     refusal = "too_many_buckets"
)

// refusals are all refusals, and what the log says of them.
var refusals = map[refusal]string{
	refusedID:       "its bucket id names no limit, or no key, or is too large",
	refusedUnknown:  "no limit of that name is stored",
	refusedStrong:   "its limit has no consistency: leased, without which nothing is passed down",
	refusedShort:    "its limit fills too soon: what Envoy has for a second and one more for the way has to lie within half of the bucket; give it a larger capacity, or a longer window",
	refusedOverride: "an override of the key decides by itself",
	refusedFull:     "too many buckets are in use, here or by its address: Envoy is told nothing of it, and goes by its own configuration",
}

// termsOf are those of a bucket, by a document.
func termsOf(doc *limit.Document, at target, now int64) (t terms, why refusal) {
	rule, ok := doc.Rule(at.limit)
	if !ok {
		return terms{}, refusedUnknown
	}
	by := doc.CauseOf(at.limit, at.key, "", func() int64 { return now })
	if by.Verdict() != limit.Decides {
		return terms{}, refusedOverride
	}
	t.rule = by.Rule(rule)
	if t.rule.Consistency != limit.Leased {
		return terms{}, refusedStrong
	}
	if t.life, ok = lifeOf(t.rule, now); !ok {
		return terms{}, refusedShort
	}
	return t, ""
}
