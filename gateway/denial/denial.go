// Package denial is a gateway's memory of the requests that it refused a short while ago, so that an operator who is
// told the id of one can see who was denied, by which limit, and from when on the same request would pass.
//
// It promises that an id is found in constant time while its denial is among the newest ones, that no id can be guessed
// from another one, and that the memory never holds more records than it was made for.
//
// Start with [Memory].
package denial

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Record is one refusal, or one request that passed and found no answer.
type Record struct {
	// ID is how the client was told to call it; [Memory.Remember] sets it.
	ID string
	// Gateway is who refused, in the form in which it stands in ids; [Memory.Remember] sets it.
	Gateway string
	// At is when. JSON has it in whole milliseconds, rounded down.
	At time.Time
	// Route, Method and Path are what was asked for. The path is without the query, which may hold secrets.
	Route, Method, Path string
	// Status is what the client was answered.
	Status int
	// Reason is why, in one word of the gateway's, such as exceeded or unavailable.
	Reason string
	// Key is who asked, or its [Hash] if it is secret; empty when that was not found out.
	Key string
	// APIKey is the label of the API key that the request was counted by, or "hash" and a few digits of one that has no label; empty
	// for none.
	APIKey string
	// Flaw is why a token or an API key that was shown did not count; nil if none was, or nobody looked at it.
	Flaw *Flaw
	// Cost is what was asked for, in tokens.
	Cost int64
	// Node is the address of the node that decided; empty when none did.
	Node string
	// Source is who decided: the cluster, or what stood in for it.
	Source string
	// Upstream is the name of the upstream that has not answered a request which had passed; empty for one that had not.
	Upstream string
	// Why is what kept the cluster from deciding, and of which limits, or Upstream from answering; empty if nothing did.
	Why string
	// Limits are what each limit of the denied check said; empty when none was asked.
	Limits []Limit
	// PassesAt is from when on the same request would pass if nobody else spent meanwhile, in JSON rounded up to the
	// millisecond. It is zero, and JSON leaves it out, when that is not known or no wait can help.
	// [Memory.Remember] sets it from At and Limits, unless it is set.
	PassesAt time.Time
	// Attached is what the gateway keeps beside the record: the answer to give again. It is no part of the JSON.
	Attached any `json:"-"`
}

// A Limit is one limit of a denied check: what it was, and what it said.
type Limit struct {
	// Rule is the limit as it was written; nil when it was not known.
	Rule *limit.Limit `json:"rule,omitempty"`
	// Outcome is what it said.
	Outcome limit.Outcome `json:"outcome"`
}

// A Flaw is what is wrong with a token or an API key, without anything of itself.
type Flaw struct {
	// Credential is "token" or "API key".
	Credential string `json:"credential"`
	// Check is what it failed, such as expired or bad_signature.
	Check string `json:"check"`
}

// passesAt is At and the longest wait of those that Limits ask for; zero when there is none.
func (r *Record) passesAt() time.Time {
	var longest time.Duration
	for _, l := range r.Limits {
		if l.Outcome.Never {
			return time.Time{}
		}
		longest = max(longest, l.Outcome.RetryAfter)
	}
	if longest == 0 {
		return time.Time{}
	}
	return r.At.Add(longest)
}

// hashBytes of SHA-256 tell keys apart.
const hashBytes = 16

// Hash is what stands for a secret key in records and logs: "sha256-" and the first 128 bits of its SHA-256 in
// hexadecimal. It is the same at every gateway, so that what they tell of one key can be found together. It does not
// protect a key that can be guessed.
func Hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256-" + hex.EncodeToString(sum[:hashBytes])
}
