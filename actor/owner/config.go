package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Config is what all owners of a process share.
type Config struct {
	// Replicas is how many replicas keep each register, at least 1 and at most MaxReplicas.
	Replicas int
	// Delta is Δ, the time for which a busy key reserves ahead, in nanoseconds.
	Delta int64
	// Busy is how many checks there must be in Delta for a key to reserve more than it spends. A key below that loses
	// nothing when its owner dies.
	Busy int
	// Late is by how much the clocks of two owners may differ, in nanoseconds: what another owner has entered into a ledger counts
	// longer by that.
	Late int64
	// LedgersInTokens says whether ledgers of buckets are written as tokens, in the form that releases before level.LedgersInTime read. nil
	// means never.
	LedgersInTokens func() bool
	// Slack is how far beyond now + reach any owner can have reserved the line, in nanoseconds.
	Slack int64
	// Resend is after how long without enough answers a reservation is sent again, in nanoseconds. 0 means never: for
	// replicas that answer every reservation.
	Resend int64
	// Patience is how long a check waits, from its time on, for a majority that is lost, in nanoseconds: connections break
	// and are made again. No check waits for a majority that was lost long ago. And a check that waits for replicas which have
	// been silent for a quarter of Patience is refused while its caller has time to ask another owner. 0 means that no check
	// waits for a lost replica, and that there is no other owner: for a replica that does not come back.
	Patience int64
	// ReturnFor is how long after the last check of a bucket its receipts are remembered, in nanoseconds.
	ReturnFor int64
	// NextSeq draws a number that this process has never used before.
	NextSeq func() uint64
	// Nonce draws 64 bits that no caller can predict: receipts are known by them. Required for checks that ask for receipts.
	Nonce func() uint64
	// Rand draws a number from 0 to n−1. Owners that collide part by it.
	Rand func(n int64) int64
}

// MaxReplicas is the most replicas that an owner can count.
const MaxReplicas = 5

// Defaults of a Config's times, in nanoseconds: 100 ms and 10 minutes.
const (
	DefaultDelta     = int64(100e6)
	DefaultReturnFor = int64(600e9)
)

// Defaults for replicas on several nodes, in nanoseconds: 1 s and 200 ms. Asking a replica again that is slow for a moment
// does not make it faster.
const (
	DefaultResend   = int64(1e9)
	DefaultPatience = int64(200e6)
)

// DefaultBusy is 16 checks in Delta, 160 a second: above what a person or a script does to one key, and few enough that
// an fsync for each is cheap.
const DefaultBusy = 16

// majority is W = ⌊R/2⌋ + 1.
func (c *Config) majority() int { return c.Replicas/2 + 1 }

// tolerated is R − W: so many replicas may fail.
func (c *Config) tolerated() int { return c.Replicas - c.majority() }

// resendAt is when what is sent now is sent again without answers.
func (c *Config) resendAt(now int64) int64 {
	if c.Resend == 0 {
		return math.MaxInt64
	}
	return now + c.Resend
}

// Terms are what many owners have in common: what their process is, and which epoch of a replica set they act in. They
// never change, so that all owners of one epoch share them; an owner goes on under others with [Owner.Enter].
type Terms struct {
	cfg   *Config
	id    limit.OwnerID
	epoch uint64
}

// NewTerms are those of the process called id, for keys whose replica set is in that epoch and has cfg.Replicas members.
func NewTerms(cfg *Config, id limit.OwnerID, epoch uint64) *Terms {
	return &Terms{cfg: cfg, id: id, epoch: epoch}
}
