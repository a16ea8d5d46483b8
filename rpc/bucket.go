package rpc

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A Bucket is a [limit.Inspection] as JSON has it. 64-bit positions are strings, because many readers of JSON keep only
// 53 bits; they are nanoseconds since the Unix epoch, the times beside them the same for people.
type Bucket struct {
	Key       string      `json:"key"`
	Limit     limit.Limit `json:"limit"`
	Now       int64       `json:"now_ns,string"` // the node clock
	Time      time.Time   `json:"now"`
	Tokens    int64       `json:"tokens"`        // that could be spent now
	TAT       int64       `json:"tat_ns,string"` // up to where the line is spent; before now: the bucket is full
	Credit    int64       `json:"credit_ns,string"`
	Segment   limit.Span  `json:"segment"` // reserved and not yet spent
	Next      limit.Span  `json:"next"`    // held in reserve
	Awake     bool        `json:"awake"`
	Waiting   int         `json:"waiting"` // checks in the actor's mailbox
	Partition int         `json:"partition"`
	Epoch     uint64      `json:"epoch,string"`
	// Generation goes up with each reset.
	Generation int64         `json:"generation,string"`
	Owner      limit.OwnerID `json:"owner"`
	Node       string        `json:"node"`
	Registers  []Register    `json:"registers"`
	Recent     []Recent      `json:"recent"` // the newest last
}

// A Register is a [limit.Stored] as JSON has it.
type Register struct {
	Node       string `json:"node"`
	Exists     bool   `json:"exists"`
	Generation int64  `json:"generation,string"`
	Reserved   int64  `json:"reserved_ns,string"`
	Floor      int64  `json:"floor_ns,string"`
	Horizon    int64  `json:"horizon_ns,string"`
}

// Recent is a [limit.Recent] as JSON has it.
type Recent struct {
	At      int64     `json:"at_ns,string"`
	Time    time.Time `json:"at"`
	Cost    int64     `json:"cost"`
	Allowed bool      `json:"allowed"`
}

// NewBucket is what was seen of a bucket, for JSON.
func NewBucket(in limit.Inspection) Bucket {
	b := Bucket{
		Key: in.Key, Now: in.Now, Time: utc(in.Now), Tokens: in.Tokens, TAT: in.TAT, Credit: in.Credit,
		Segment: in.Segment, Next: in.Next, Awake: in.Awake, Waiting: in.Waiting,
		Partition: in.Partition, Epoch: in.Epoch, Generation: in.Generation, Owner: in.Owner, Node: in.Node,
		Registers: make([]Register, len(in.Registers)), Recent: make([]Recent, len(in.Recent)),
	}
	if in.Rule != nil {
		b.Limit = in.Rule.Limit
	}
	for i, r := range in.Registers {
		b.Registers[i] = Register(r)
	}
	for i, r := range in.Recent {
		b.Recent[i] = Recent{At: r.At, Time: utc(r.At), Cost: r.Cost, Allowed: r.Allowed}
	}
	return b
}

// utc is a position as a time that people read. It is in the years that JSON can have, as the node clock is.
func utc(ns int64) time.Time { return time.Unix(0, ns).UTC() }
