package rlqs

import (
	"time"

	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Envoy counts times to live in whole seconds, and so does it the intervals of token buckets.
const (
	// slack is how long after its time to live an assignment may be in force yet, counted from when its line was asked for: until Envoy has it, and for its timer.
	slack = int64(time.Second)
	// handOver is the part of slack within which the door hands the assignment to gRPC. One that took longer is dropped.
	handOver = slack / 2
	// longest is the longest time to live of an assignment.
	longest = 4 * int64(time.Second)
	// denied is the time to live of a denial of all requests. It takes nothing, and is replaced when there is something.
	denied = 10 * int64(time.Second)
	// fill is how long a token bucket of Envoy's takes to fill. Some versions begin with an empty one if that is longer than their machine is up.
	fill = int64(time.Minute)
)

// lifeOf is the time to live of assignments of a rule, in nanoseconds: so that the line behind it, and slack, is about half of the bucket. It is not ok if the bucket is so short that there
// is none.
func lifeOf(rule *limit.Rule, now int64) (life int64, ok bool) {
	life = (int64(rule.Fill())/2 - slack) / int64(time.Second) * int64(time.Second)
	life = max(min(life, longest), int64(time.Second))
	t := rule.Begin(now)
	half := (rule.Bound(t).NS - rule.Begin(t+life+slack)) / 2
	return life, half > 0 && rule.TokensIn(half) > 0
}

// mostTokens is how many tokens an assignment has at most: what Envoy's numbers can say.
const mostTokens = int64(1 << 31)

// maxTokens is how large Envoy's bucket may be if it and what comes back in it while it is in force are to be no more than so many tokens, at least 1.
//
// Envoy begins with a full bucket, which fills in the time that fill is, and admits a request for a whole token. So until its life and slack are over it admits no more than
// max + max · (life+slack)/fill, rounded down.
func maxTokens(tokens, life int64) int64 {
	tokens = min(tokens, mostTokens)
	most := tokens * seconds(fill) / seconds(fill+life+slack)
	for most < tokens && debit(most+1, life) <= tokens {
		most++
	}
	return most
}

// debit is how many requests Envoy admits at most by a bucket of that size.
func debit(most, life int64) int64 { return most + most*seconds(life+slack)/seconds(fill) }

func seconds(ns int64) int64 { return ns / int64(time.Second) }

// tokenBucket is an assignment as Envoy takes it. Envoy goes on with the bucket that it has if the next one is the same, and fills no other: so each has another number where Envoy looks, and does
// not count, in the nanoseconds of the interval.
func tokenBucket(most int64, serial int32) *typev3.RateLimitStrategy {
	return &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_TokenBucket{TokenBucket: &typev3.TokenBucket{
		MaxTokens: uint32(most), TokensPerFill: wrapperspb.UInt32(uint32(most)), //nolint:gosec // at most mostTokens
		FillInterval: &durationpb.Duration{Seconds: seconds(fill), Nanos: serial},
	}}}
}

// serials is how many serials there are.
const serials = 1_000_000

// all lets all requests pass, or none.
func all(rule typev3.RateLimitStrategy_BlanketRule) *typev3.RateLimitStrategy {
	return &typev3.RateLimitStrategy{Strategy: &typev3.RateLimitStrategy_BlanketRule_{BlanketRule: rule}}
}
