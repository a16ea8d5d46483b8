package limit

import (
	"encoding/json"
	"time"
)

// inspectionJSON is an [Inspection] as JSON has it. 64-bit positions are strings, because many readers of JSON keep only
// 53 bits; they are nanoseconds since the Unix epoch, the times beside them the same for people.
type inspectionJSON struct {
	Key       string    `json:"key"`
	Limit     Limit     `json:"limit"`
	Now       int64     `json:"now_ns,string"` // the node clock
	Time      time.Time `json:"now"`
	Tokens    int64     `json:"tokens"`        // that could be spent now
	TAT       int64     `json:"tat_ns,string"` // up to where the line is spent; before now: the bucket is full
	Credit    int64     `json:"credit_ns,string"`
	Segment   Span      `json:"segment"` // reserved and not yet spent
	Next      Span      `json:"next"`    // held in reserve
	Awake     bool      `json:"awake"`
	Waiting   int       `json:"waiting"` // checks in the actor's mailbox
	Partition int       `json:"partition"`
	Epoch     uint64    `json:"epoch,string"`
	// Generation goes up with each reset.
	Generation int64        `json:"generation,string"`
	Owner      OwnerID      `json:"owner"`
	Node       string       `json:"node"`
	Registers  []storedJSON `json:"registers"`
	Recent     []recentJSON `json:"recent"` // the newest last
}

// storedJSON is a [Stored] as JSON has it.
type storedJSON struct {
	Node       string `json:"node"`
	Error      string `json:"error,omitempty"`
	Epoch      uint64 `json:"epoch,string"`
	Sealed     bool   `json:"sealed"`
	Exists     bool   `json:"exists"`
	Generation int64  `json:"generation,string"`
	Reserved   int64  `json:"reserved_ns,string"`
	Floor      int64  `json:"floor_ns,string"`
	Horizon    int64  `json:"horizon_ns,string"`
}

// recentJSON is a [Recent] as JSON has it.
type recentJSON struct {
	At      int64     `json:"at_ns,string"`
	Time    time.Time `json:"at"`
	Cost    int64     `json:"cost"`
	Allowed bool      `json:"allowed"`
}

// MarshalJSON writes positions as strings, as all of the JSON API does, and as times beside them.
func (in Inspection) MarshalJSON() ([]byte, error) {
	b := inspectionJSON{
		Key: in.Key, Now: in.Now, Time: utc(in.Now), Tokens: in.Tokens, TAT: in.TAT, Credit: in.Credit,
		Segment: in.Segment, Next: in.Next, Awake: in.Awake, Waiting: in.Waiting,
		Partition: in.Partition, Epoch: in.Epoch, Generation: in.Generation, Owner: in.Owner, Node: in.Node,
		Registers: make([]storedJSON, len(in.Registers)), Recent: make([]recentJSON, len(in.Recent)),
	}
	if in.Rule != nil {
		b.Limit = in.Rule.Limit
	}
	for i, r := range in.Registers {
		b.Registers[i] = storedJSON(r)
	}
	for i, r := range in.Recent {
		b.Recent[i] = recentJSON{At: r.At, Time: utc(r.At), Cost: r.Cost, Allowed: r.Allowed}
	}
	return json.Marshal(b)
}

// utc is a position as a time that people read. It is in the years that JSON can have, as the node clock is.
func utc(ns int64) time.Time { return time.Unix(0, ns).UTC() }
