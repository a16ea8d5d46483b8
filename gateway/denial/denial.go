// Package denial is a gateway's memory of the requests that it refused recently. A client reports the id of its denial to an operator,
// who looks up which key was denied, by which limit, and when the same request would pass.
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

// A Record is one refusal, one request that passed and found no answer, or one exchange with a language model.
type Record struct {
	// ID is the id that the client gets with the answer; [Memory.Remember] sets it.
	ID string
	// Gateway is the [Name] of the gateway that refused; [Memory.Remember] sets it.
	Gateway string
	// At is the time of the refusal. JSON has it in whole milliseconds, rounded down.
	At time.Time
	// Route, Method and Path are those of the request. The path is without the query, which may hold secrets.
	Route, Method, Path string
	// Status is the HTTP status of the answer.
	Status int
	// Reason is the outcome of the request in one word, such as exceeded or unavailable.
	Reason string
	// Key is the key of the client, or its [Hash] if it is secret; empty if no check had found a key.
	Key string
	// APIKey is the label of the API key that the request was counted by, or "hash" and a few digits of one that has no label; empty
	// for none.
	APIKey string
	// Flaw is why the token or the API key of the request is invalid; nil if it had none, or no check has read it.
	Flaw *Flaw
	// Cost is the cost of the denied check, in tokens: of what it counts.
	Cost int64
	// Counts is what the denied check counts, such as tokens or money, in millionths of its unit; empty for requests.
	Counts string
	// Wait is how long the denied check would have waited for tokens; 0 if it would not, in JSON in whole milliseconds, rounded down.
	Wait time.Duration
	// Node is the address of the node that decided; empty when none did.
	Node string
	// Source is what decided: the cluster, the gateway itself for limits that leave it to that, a denial of the cluster that the gateway knew, or the fallback of the gateway.
	Source string
	// KnownSince is when the denial of the cluster had come that the gateway knew, in JSON in whole milliseconds, rounded down; zero if it
	// asked the cluster.
	KnownSince time.Time
	// Upstream is the name of the upstream that did not answer a request that had passed; empty for a refused request.
	Upstream string
	// Why is the error of the cluster, with the limits that were asked, or that of Upstream; empty if there was none.
	Why string
	// Undecided are the limits of checks that passed without a decision, by their on_unavailable, with the error of the cluster; empty if
	// there was none.
	Undecided string
	// Limits are the outcomes of the limits of the denied check and of those before it; empty if none was asked.
	Limits []Limit
	// PassesAt is the time from which the same request would pass if no other request took tokens until then, in JSON rounded up to the
	// millisecond. It is zero, and JSON leaves it out, when that is not known or no wait can help.
	// [Memory.Remember] sets it from At and Limits, unless it is set.
	PassesAt time.Time
	// Exchange is what is known of a request to a language model; nil for other requests.
	Exchange *ModelRequest
	// Attached is what the gateway keeps beside the record: the answer to give again. It is no part of the JSON.
	Attached any `json:"-"`
}

// A Limit is one limit of a refused request: what it was, and what it said.
type Limit struct {
	// Rule is the limit as it was written; nil when it was not known.
	Rule *limit.Limit `json:"rule,omitempty"`
	// Outcome is what it said.
	Outcome limit.Outcome `json:"outcome"`
	// Counts is what its check counts, as in [Record].
	Counts string `json:"counts,omitempty"`
	// Earlier says that its check came before the denied one: it has taken its cost, which was given back.
	Earlier bool `json:"earlier,omitempty"`
}

// A Flaw is what is wrong with a token or an API key. It contains no part of either.
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

// Hash replaces a secret key in records and logs: "sha256-" and the first 128 bits of its SHA-256 in hexadecimal. It is the same at
// every gateway, so that one search finds the records and log lines of all gateways. It does not protect a key that can be guessed.
func Hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "sha256-" + hex.EncodeToString(sum[:hashBytes])
}
