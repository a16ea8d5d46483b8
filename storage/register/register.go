// Package register is the replica's half of jeton's protocol, as pure steps: what a register is, and which reservations of
// its line a replica may accept. It has no clock and no I/O. The caller must make the register that a step returns durable
// before it sends the answer.
//
// The line of a bucket is its time axis. A reservation takes the segment (From, To] of it for one owner: a lease of that
// piece of the line. One rule keeps every limit: a replica accepts a reservation only if the line is free from From on. So
// two segments that a majority accepted never overlap, whichever owners asked for them and in whatever order their messages
// arrived.
//
// A replica set is replaced by joining what enough of its members hold: see [Join] and [Register.Join].
//
// # Ledgers
//
// One position, H, is all that a limit needs whose line is spent. A limit that counts entries, such as those of a sliding window, has a
// ledger besides: bytes that only owners read. Its register is the acceptor of a replicated register in the manner of CASPaxos
// (Rystsov, 2018), and a position on the line is its ballot:
//
//   - An owner claims the ledger with a reservation that has Claim set. Who accepts it keeps the ledger and tells it, with its
//     version. The owner goes on from the highest version that the majority told.
//   - A reservation without Claim that begins where the owner's last one ended replaces the ledger. Its From is the new version.
//
// Since accepted segments never overlap, only one owner can write from where a segment ends, and what it writes is made from all
// that a majority has accepted before. The proof is in docs/protocol.md.
//
// Expire keeps a register from being swept while its ledger counts, though H lies in the past.
//
// What replaces the ledger may come as a [difference] from the one that the replica has. Then it is decided as if the whole had come,
// or, if the replica has another one, not at all: see OtherBase.
//
// Start with [Partition.Reserve].
package register

import (
	"bytes"
	"cmp"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/difference"
)

// Bounds are two durations that all replicas and owners of a cluster agree on, in nanoseconds. They are fixed for the
// lifetime of the cluster.
type Bounds struct {
	EpsMax   int64 // the tolerated clock difference, including the time that a message takes
	DeltaMax int64 // how far beyond its reach an owner may reserve
}

// DefaultBounds are 250 ms and 1 s.
func DefaultBounds() Bounds { return Bounds{EpsMax: 250e6, DeltaMax: 1e9} }

// Slack is how far beyond now + reach the line may be reserved: DeltaMax + 2·EpsMax.
func (b Bounds) Slack() int64 { return b.DeltaMax + 2*b.EpsMax }

// MaxLedger is how many bytes a ledger has at most: one that lists as many holds as it may. Others have less than 8 kB.
const MaxLedger = 56 << 10

// Writer identifies one process of an owner: 128 random bits, drawn when it starts.
type Writer [16]byte

// A Reservation asks for the segment (From, To] of a bucket's line. An empty segment reserves nothing: it asks whether the
// line is free from From on, and is how a reset is written.
type Reservation struct {
	Writer Writer
	Seq    uint64 // from a counter of the writer's process, never used twice
	Epoch  uint64
	Now    int64 // the owner's clock when this was sent; 0 if owner and replica share a clock
	// Arrived is the replica's clock when the message arrived, so that time in the replica's queue does not count as clock
	// skew; 0 if it is decided at once.
	Arrived int64

	Partition  ring.Partition
	Key, Limit string
	Generation int64
	From, To   int64
	Reach      int64 // how far ahead of its now the limit may ever spend
	// Lead is how far ahead of its now an owner can have been when it reserved line beyond From: none did so before From − Lead. 0
	// means Reach.
	Lead   int64
	Inline bool  // the request has defined the limit
	Expire int64 // the register may not be swept before this time; 0 for one without a ledger
	Claim  bool  // the stored ledger stays and is told; otherwise Ledger takes its place
	Ledger []byte
	// Difference, if it is not empty, is what Ledger differs by from the ledger that the replica has, in place of the whole.
	Difference []byte
	// Trace is the span of a check that waits for the answer, as a text; empty for none. It decides nothing.
	Trace string
}

// A Register is a replica's durable record of a bucket. The zero Register is that of a bucket that was never used.
type Register struct {
	Generation int64
	H          int64 // the line is reserved up to here
	Expire     int64 // the register may not be swept before this time
	// The rest is the reservation that was accepted last: a repetition of it is recognized by it.
	Writer Writer
	Seq    uint64
	Epoch  uint64 // 0 if another replica has accepted it: see Join
	From   int64
	Reach  int64
	Inline bool // a request has defined the limit

	Version int64  // of the ledger: the From of the reservation that wrote it; 0 for none
	Ledger  []byte // empty for a limit that spends a line
}

// A Partition is a replica's durable record of one partition. In epoch 0 it holds no registers; installed for a later epoch
// it does not answer in that one yet. In both cases it is sealed.
type Partition struct {
	Epoch      uint64 // the number of its replica set; 0 for none
	Installed  uint64 // a later epoch for which its registers are complete and which it has not entered; 0 for none
	Sealed     bool   // it accepts no more reservations in its epoch
	Incomplete bool   // its registers were dropped: it is no source for other replicas
	Floored    bool   // Floor is set
	Floor      int64  // every bucket counts as emptied until this time
	Horizon    int64  // registers that ended before this time were swept
}

// A Verdict says whether a reservation was accepted, or why not.
type Verdict uint8

// The verdicts.
const (
	Accepted      Verdict = iota + 1
	Taken                 // the line is reserved beyond From: see Position
	OldGeneration         // the bucket has been reset since: see Generation
	WrongEpoch            // the replica set has changed, or this replica has not entered its epoch yet: see Epoch
	Sealed                // the replica set is changing
	Skewed                // the owner's clock differs too much: see Skew
	TooFar                // To lies further ahead than any owner may reserve
	Full                  // the replica has the maximum number of registers of limits that requests define
	OtherBase             // the replica cannot tell what the whole is of a Difference: it is to be sent again with its Ledger
)

// An Answer is a replica's answer to a reservation.
type Answer struct {
	Verdict    Verdict
	Position   int64  // To if accepted; otherwise the position from which on the line is free
	Generation int64  // that Position is for: the higher one of the reservation's and the register's
	Epoch      uint64 // of the partition
	Skew       int64  // the owner's now less the replica's
	Floored    bool   // a floor closes the bucket at the replica, whatever its register says
	// What an accepted claim is told: the stored ledger. The bytes are not to be changed.
	Version int64
	Ledger  []byte
}

// lead is the Lead of m.
func (m *Reservation) lead() int64 { return cmp.Or(m.Lead, m.Reach) }

// FreeFor is the position from which on the line of r's bucket is free for m.
func (p Partition) FreeFor(r Register, m *Reservation, b Bounds) int64 {
	return p.Free(r, max(r.Generation, m.Generation), m.lead(), b)
}

// Free is the position from which on the line of r's bucket is free, for a reservation of that generation and lead.
func (p Partition) Free(r Register, generation, lead int64, b Bounds) int64 {
	free := r.H
	if r.Generation < generation && r.H <= generation {
		free = 0 // reserved before the reset, which knew of everything up to there
	}
	free = max(free, p.Horizon)
	if p.Floored {
		free = max(free, p.Floor+lead+b.Slack())
	}
	return free
}

// Reserve decides m at the replica's time now. If write is true, the returned Register must be durable before the Answer is
// sent. In any case every earlier write of the same register must be.
func (p Partition) Reserve(r Register, m Reservation, now int64, b Bounds) (after Register, a Answer, write bool) {
	a = Answer{
		Position:   p.FreeFor(r, &m, b),
		Generation: max(r.Generation, m.Generation),
		Epoch:      p.Epoch,
		Floored:    p.Floored && p.Floor+m.lead() > now,
	}
	if m.Now != 0 {
		a.Skew = m.Now - cmp.Or(m.Arrived, now)
	}
	switch {
	case m.Epoch != p.Epoch:
		a.Verdict = WrongEpoch
	case p.Sealed:
		a.Verdict = Sealed
	case !m.complete(r):
		a.Verdict = OtherBase
	case r.repeats(m):
		a.accept(r, m)
	case m.Generation < r.Generation:
		a.Verdict = OldGeneration
	case a.Position > m.From || m.To < m.From:
		a.Verdict = Taken
	case a.Skew > b.EpsMax || a.Skew < -b.EpsMax:
		a.Verdict = Skewed
	case m.To > now+m.Reach+b.Slack():
		a.Verdict = TooFar
	default:
		a.accept(r, m)
		return r.accept(m), a, true
	}
	return r, a, false
}

// complete makes the Ledger of the Difference, if m has one, and says whether that is known.
func (m *Reservation) complete(r Register) (ok bool) {
	if m.Claim || len(m.Difference) == 0 {
		return true
	}
	m.Ledger, ok = difference.Apply(r.Ledger, m.Difference, MaxLedger)
	return ok
}

// accept answers a reservation that r accepts or has accepted.
func (a *Answer) accept(r Register, m Reservation) {
	a.Verdict, a.Position = Accepted, m.To
	if m.Claim {
		a.Version, a.Ledger = r.Version, r.Ledger
	}
}

// accept is r after it has accepted m.
func (r Register) accept(m Reservation) Register {
	after := Register{
		Generation: m.Generation, H: m.To, Expire: max(r.Expire, m.Expire),
		Writer: m.Writer, Seq: m.Seq, Epoch: m.Epoch, From: m.From, Reach: m.Reach, Inline: m.Inline,
		Version: r.Version, Ledger: r.Ledger,
	}
	if !m.Claim {
		after.Version, after.Ledger = 0, nil
		if len(m.Ledger) > 0 {
			after.Version, after.Ledger = m.From, bytes.Clone(m.Ledger)
		}
	}
	return after
}

// repeats reports whether m is the reservation that r accepted last: the same in every field but Now, which is set for each
// attempt. It is not enough that r is reserved up to m.To: that may have been for another owner.
func (r Register) repeats(m Reservation) bool {
	return r.Writer == m.Writer && r.Seq == m.Seq && r.Epoch == m.Epoch && r.Generation == m.Generation &&
		r.From == m.From && r.H == m.To && r.Reach == m.Reach && r.Inline == m.Inline && (m.Claim || bytes.Equal(r.Ledger, m.Ledger))
}

// Swept reports whether r can be deleted once the horizon is at that time: it refuses nothing that the horizon does not.
func (r Register) Swept(horizon int64) bool {
	return r.H < horizon && r.Generation < horizon && r.Expire < horizon
}
