// Package activity says what a cluster is doing from second to second, for people who watch it: the console in the browser, and jeton top.
// Each node tells what it has done since it started, as counters ([Node]). What was done between two looks at all nodes is
// a [View], which [Compare] makes.
package activity

import "time"

// A Node is what a node has done since it started, and what it is doing now. Counters only grow as long as Started is the same.
type Node struct {
	Name string `json:"name"`
	ID   string `json:"id,omitempty"` // as in the cluster's status; empty for a node that is alone
	// Error is why the node has not told: all fields below are empty. Empty: it has.
	Error   string    `json:"error,omitempty"`
	Version string    `json:"version,omitempty"` // of the binary
	Started time.Time `json:"started"`
	Now     time.Time `json:"now"` // on the node's clock

	// Limits are by name; limits that requests define count as one, "(inline)", and so do errors of those that there are not, "(unknown)".
	Limits map[string]Counts `json:"limits,omitempty"`
	// Errors counts the checks that got an error instead of a decision, by its code as gRPC names it, at each of their limits: the sum of what Limits
	// have. One that another node has forwarded counts there.
	Errors map[string]float64 `json:"errors,omitempty"`
	// Latency is of checks, in this node, from the check to its decision.
	Latency Histogram `json:"latency"`
	// Fsync is of the writes of the store.
	Fsync Histogram `json:"fsync"`

	Awake   int `json:"awake"`   // keys in memory
	Dormant int `json:"dormant"` // keys of which only reserved line is in memory
	Waiting int `json:"waiting"` // checks in mailboxes
	// MemoryHeld and MemoryBudget are bytes of keys; a budget of 0 has no bound.
	MemoryHeld   int64 `json:"memory_held"`
	MemoryBudget int64 `json:"memory_budget"`
	// Shed counts what was given up for want of memory, by what it was, as jeton_shed_total has it: new_keys are checks that were refused.
	Shed map[string]float64 `json:"shed,omitempty"`
	// DiskUsed and DiskFree are bytes: of the data directory, and of the file system that it is on.
	DiskUsed int64 `json:"disk_used"`
	DiskFree int64 `json:"disk_free"`
	// Durability says when a decision counts as kept: fsync or memory; empty from a node that does not tell.
	Durability string `json:"durability,omitempty"`
	// Ready is why the node takes no checks, or what is wrong with some keys; empty: nothing is.
	Ready string `json:"ready,omitempty"`
	// Keys are the keys with most checks in the last half second, the busiest first, and those of them that are denied most.
	Keys []Key `json:"keys,omitempty"`
	// Gateways are those that have told this node lately what they do.
	Gateways []Gateway `json:"gateways,omitempty"`
}

// Counts are of one limit, since the node started.
type Counts struct {
	Allowed float64 `json:"allowed"`
	Denied  float64 `json:"denied"`
	Spared  float64 `json:"spared"` // it would have allowed what another limit denied
	// Errors are checks that got no decision: see [Node.Errors]. A gateway tells none here, but what it did then.
	Errors float64 `json:"errors,omitempty"`
}

// A Key is a key that is checked often.
type Key struct {
	Key string `json:"key"` // bytes that are not UTF-8 are replaced: Escaped has them
	// Escaped is the key as a path of the API has it: percent-encoded.
	Escaped string   `json:"escaped"`
	Node    string   `json:"node,omitempty"` // that decides; only a View has it
	Limits  []string `json:"limits"`         // its awake buckets
	// PerSecond is checks a second, Share of them of the node's checks, and Denied the share of them that was denied.
	PerSecond float64  `json:"per_second"`
	Share     float64  `json:"share"`
	Denied    float64  `json:"denied"`
	Hot       bool     `json:"hot,omitempty"`
	Buckets   []Bucket `json:"buckets,omitempty"`
}

// A Bucket is how full a bucket is.
type Bucket struct {
	Limit     string  `json:"limit"`
	Capacity  int64   `json:"capacity"`
	Remaining int64   `json:"remaining"`
	Used      float64 `json:"used"` // the share of the capacity that is not there, 0 to 1
}

// A Gateway is what a gateway tells, with counters since it started.
type Gateway struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	// Admin is the address of its admin listener, as the gateway itself knows it; empty where it told something else.
	Admin string `json:"admin,omitempty"`
	// Requests counts requests by outcome, as jeton_gateway_requests_total has it: admitted, denied, fail_open and so on.
	Requests map[string]float64 `json:"requests,omitempty"`
	// Leaves says that the gateway stops: it is shown no more, whatever it has told other nodes before. All else but Name and Now is empty then.
	Leaves bool `json:"leaves,omitempty"`
	// Limits counts, by limit, what the gateway has decided without asking a node, which nodes do not count.
	Limits map[string]Counts `json:"limits,omitempty"`
	// FailedOpen and FailedClosed count, by limit, checks that passed, and that were refused, for want of a decision.
	FailedOpen   map[string]float64 `json:"failed_open,omitempty"`
	FailedClosed map[string]float64 `json:"failed_closed,omitempty"`
	// Partial says that limits are left out, for want of room. What is counted of those is not known; otherwise it is nothing.
	Partial bool      `json:"partial,omitempty"`
	Latency Histogram `json:"latency"` // of decisions, as the gateway waits for them
	// Now is when it told this, and Before is what it told before that, nil for nothing. The node sets both.
	Now    time.Time `json:"now"`
	Before *Gateway  `json:"before,omitempty"`
}
