// Package register is the replica's half of jeton's protocol, as pure steps: what a register is, and which
// reservations of its line a replica may accept. It has no clock and no I/O. Whoever runs it must make the register
// that a step returns durable before anybody hears the answer.
//
// The line of a bucket is time itself. A reservation takes the segment (From, To] of it for one owner. The rule that
// keeps every limit: a replica accepts a reservation only if the line is free from From on, so two segments that a
// majority accepted never overlap, whoever asked for them and in whatever order the messages came.
//
// A replica set is replaced by joining what enough of its members hold: see [Join] and [Register.Join].
//
// Start with [Partition.Reserve].
package register

import (
	"bytes"
	"cmp"

	"github.com/jeton-dev/jeton/ring"
)

// Bounds are the two lengths of time that every replica and owner of a cluster agrees on, in nanoseconds. They are
// fixed when the cluster is made.
type Bounds struct {
	EpsMax   int64 // the clock difference that is tolerated, the way of the message included
	DeltaMax int64 // how far beyond its reach an owner may reserve
}

// DefaultBounds are 250 ms and 1 s.
func DefaultBounds() Bounds { return Bounds{EpsMax: 250e6, DeltaMax: 1e9} }

// Slack is how far beyond now + reach the line can have been reserved: DeltaMax + 2·EpsMax.
func (b Bounds) Slack() int64 { return b.DeltaMax + 2*b.EpsMax }

// Writer names one life of an owner: 128 random bits drawn when its process starts.
type Writer [16]byte

// A Reservation asks for the segment (From, To] of a bucket's line. An empty segment reserves nothing; it asks whether
// the line is free from From on, and is how a reset is written.
type Reservation struct {
	Writer Writer
	Seq    uint64 // from one counter of the writer's process, never used twice
	Epoch  uint64
	Now    int64 // the owner's clock when this was sent; 0 in a process that shares its clock with the replica
	// Arrived is the replica's clock when the message had arrived: what it waits for here does not look like a wrong clock.
	// 0: it is decided at once.
	Arrived int64

	Partition  ring.Partition
	Key, Limit string
	Generation int64
	From, To   int64
	Reach      int64 // how far ahead of its now the limit may ever spend
	Inline     bool  // the request has defined the limit
	Aux        []byte
}

// A Register is a replica's durable record of a bucket. The zero Register is that of a bucket never heard of.
type Register struct {
	Generation int64
	H          int64 // the line is reserved up to here
	Expire     int64 // the register may not be swept before; 0 for algorithms that need none
	// The reservation that was accepted last, by which its repetition is known.
	Writer Writer
	Seq    uint64
	Epoch  uint64 // 0 when another replica has accepted it: see Join
	From   int64
	Reach  int64
	Inline bool // the limit is one that a request has defined
	Aux    []byte
}

// A Partition is a replica's durable record of one partition. One in epoch 0 keeps no registers, and one that is
// installed for a later epoch does not answer in it yet: both are sealed.
type Partition struct {
	Epoch      uint64 // the number of its replica set; 0 for none
	Installed  uint64 // a later epoch that its registers are complete for and that it has not entered; 0 for none
	Sealed     bool   // it accepts nothing in its epoch any more
	Incomplete bool   // its registers were dropped: it is no source for anybody
	Floored    bool   // Floor is set
	Floor      int64  // until this time every bucket is assumed to have been emptied
	Horizon    int64  // registers that ended before this time have been swept
}

// A Verdict says whether a reservation was accepted, or what stopped it.
type Verdict uint8

// The verdicts.
const (
	Accepted      Verdict = iota + 1
	Taken                 // the line is reserved beyond From: see Position
	OldGeneration         // the bucket has been reset since: see Generation
	WrongEpoch            // the replica set has changed, or this replica is not yet of it: see Epoch
	Sealed                // the replica set is changing
	Skewed                // the owner's clock differs too much: see Skew
	TooFar                // To lies further ahead than any owner may reserve
	Full                  // the replica keeps as many registers of limits that requests define as it may
)

// An Answer is what a replica says to a reservation.
type Answer struct {
	Verdict    Verdict
	Position   int64  // To when accepted; otherwise the place from which on the line is free
	Generation int64  // what Position is for: the reservation's generation, or the register's where that is higher
	Epoch      uint64 // of the partition
	Skew       int64  // the owner's now less the replica's
}

// Free is the position from which on the line of r's bucket is free for a reservation of that generation and reach.
func (p Partition) Free(r Register, generation, reach int64, b Bounds) int64 {
	free := r.H
	if r.Generation < generation && r.H <= generation {
		free = 0 // reserved before the reset, and the reset knew of everything up to there
	}
	free = max(free, p.Horizon)
	if p.Floored {
		free = max(free, p.Floor+reach+b.Slack())
	}
	return free
}

// Reserve decides m at the replica's time now. If write is true, the returned Register must be durable before the
// Answer is given; so must every earlier write of the same register in any case.
func (p Partition) Reserve(r Register, m Reservation, now int64, b Bounds) (after Register, a Answer, write bool) {
	a = Answer{
		Position:   p.Free(r, max(r.Generation, m.Generation), m.Reach, b),
		Generation: max(r.Generation, m.Generation),
		Epoch:      p.Epoch,
	}
	if m.Now != 0 {
		a.Skew = m.Now - cmp.Or(m.Arrived, now)
	}
	switch {
	case m.Epoch != p.Epoch:
		a.Verdict = WrongEpoch
	case p.Sealed:
		a.Verdict = Sealed
	case r.repeats(m):
		a.Verdict, a.Position = Accepted, m.To
	case m.Generation < r.Generation:
		a.Verdict = OldGeneration
	case a.Position > m.From || m.To < m.From:
		a.Verdict = Taken
	case a.Skew > b.EpsMax || a.Skew < -b.EpsMax:
		a.Verdict = Skewed
	case m.To > now+m.Reach+b.Slack():
		a.Verdict = TooFar
	default:
		a.Verdict, a.Position = Accepted, m.To
		return Register{
			Generation: m.Generation, H: m.To, Expire: r.Expire,
			Writer: m.Writer, Seq: m.Seq, Epoch: m.Epoch, From: m.From, Reach: m.Reach, Inline: m.Inline, Aux: m.Aux,
		}, a, true
	}
	return r, a, false
}

// repeats says whether m is the reservation that r accepted last: the same in every field but Now, which every sending
// stamps anew. It is not enough that r is reserved up to m.To: that may have been for another owner.
func (r Register) repeats(m Reservation) bool {
	return r.Writer == m.Writer && r.Seq == m.Seq && r.Epoch == m.Epoch && r.Generation == m.Generation &&
		r.From == m.From && r.H == m.To && r.Reach == m.Reach && r.Inline == m.Inline && bytes.Equal(r.Aux, m.Aux)
}

// Swept says whether r says nothing any more once the horizon stands at that time, and can be deleted.
func (r Register) Swept(horizon int64) bool {
	return r.H < horizon && r.Generation < horizon && r.Expire < horizon
}
