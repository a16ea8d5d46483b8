package limit

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// An Inspection is the state of one bucket at one moment, as its owner sees it.
type Inspection struct {
	Key  string
	Rule *Rule
	// Override is the override that counts for the key, in words; empty for none. Rule has its numbers.
	Override string
	// Verdict is what that override says of every check, whatever the bucket holds, and Until when it ends, in nanoseconds since the Unix
	// epoch; 0 is never.
	Verdict Verdict
	Until   int64
	// Plan is the plan by whose numbers the last check of a bucket in memory went; empty for the limit's own. Rule has its numbers.
	Plan string
	Now  int64 // the node clock at that moment, in nanoseconds since the Unix epoch
	// Partition is where the key lives, and Epoch the number of that partition's replica set.
	Partition int
	Epoch     uint64
	// Owner is the owner that answers, and Node the name of its node.
	Owner OwnerID
	Node  string
	// Awake says whether the bucket is in memory: an actor has it, or the key is dormant and holds line of it. If not, the fields below are computed from the registers.
	Awake      bool
	Generation int64
	TAT        int64 // the position up to which the line is spent, rounded up; before Now: the bucket is full
	Tokens     int64 // whole tokens that could be spent now
	Segment    Span  // reserved and not yet spent by this owner; empty if Start = End
	Next       Span  // the next segment, reserved ahead; empty if Start = End
	Credit     int64 // returned line that can be spent again, in nanoseconds
	// Of a limit that counts entries, in place of TAT, Segment, Next and Credit: its ledger as it is stored, by how much longer what
	// other owners entered counts, in nanoseconds, and what of it the owner holds for further checks.
	Ledger []byte
	Late   int64
	Held   int64
	// Holds are the holds of the bucket, nil if none can be or nothing is known of them: those of a limit that spends a line stand in the
	// memory of its owner alone. Debt is by how many tokens the bucket of a limit with holds is overdrawn, as far as is known.
	Holds *HoldsSeen
	Debt  int64
	// Leases are what edges hold of it, as far as this owner has given it.
	Leases []LeaseSeen
	// Closed is until when a penalty closes the bucket, 0 if none does, and Denied how many denials in a row an awake actor remembers.
	Closed int64
	Denied int64
	// Begins is when a check of one token begins that may wait as long as the limit allows; 0 if it is denied, or the limit has no wait.
	Begins    int64
	Waiting   int      // checks that wait in the actor's mailbox
	Registers []Stored // each replica's register
	Recent    []Recent // the actor's last decisions on this bucket, the newest last
}

// Counted is the ledger of a limit that counts entries.
func (in *Inspection) Counted() (*Ledger, error) {
	l := in.Rule.NewLedger(in.Late)
	err := l.Read(in.Ledger, in.Owner)
	return l, err
}

// Unknown says that every replica was asked and none has a register of the bucket: the bucket was never spent from, or its register
// was removed some time after it had filled up.
func (in *Inspection) Unknown() bool {
	known := func(s Stored) bool { return s.Exists || s.Error != "" }
	return len(in.Registers) > 0 && !slices.ContainsFunc(in.Registers, known)
}

// Wait is how long until a check of that cost passes, if no other check spends anything before: 0 if it would pass now. What an override
// says in place of the bucket is left aside.
func (in *Inspection) Wait(cost int64) time.Duration {
	return max(in.waitOpen(cost), time.Duration(in.Closed-in.Now))
}

// waitOpen is Wait, as if no penalty closed the bucket.
func (in *Inspection) waitOpen(cost int64) time.Duration {
	if in.Rule.Counts() {
		l, err := in.Counted()
		if err != nil {
			return 0
		}
		return l.Outcome(in.Rule, in.Now, cost, in.Held, false).RetryAfter
	}
	tat := At(in.TAT - in.Credit)
	end := in.Rule.End(tat, in.Now, in.Rule.Length(cost))
	return in.Rule.Outcome(tat, in.Now, cost, end, false).RetryAfter
}

// spendable is the line that checks can spend now, as far as the algorithm goes: parts of it may be spent already. It is nil for a limit
// that counts entries.
func (in *Inspection) spendable() *Span {
	if in.Rule.Counts() {
		return nil
	}
	return &Span{Start: in.Rule.Begin(in.Now), End: in.Rule.Bound(in.Now).NS}
}

// Stored is a replica's register of a bucket as an Inspection shows it.
type Stored struct {
	Node       string
	Error      string // why the register could not be read, and then the fields below are zero; empty if it was read
	Epoch      uint64 // in which the replica keeps the key's partition
	Sealed     bool   // the replica accepts nothing more in its epoch: the replica set is changing
	Exists     bool   // false: the replica has no register, and takes the bucket for full
	Generation int64
	Reserved   int64 // how far the line is reserved, nanoseconds since the Unix epoch
	Floor      int64 // the replica's floor, or 0: before it every bucket counts as empty
	Horizon    int64 // registers that ended before it have been swept
}

// A LeaseSeen is a lease as its owner shows it.
type LeaseSeen struct {
	Edge string // the name of who holds it; empty if it gave none
	Span        // what it may hold: all of it, but for what it has given back
	// Until is when it may spend it no more, in nanoseconds since the Unix epoch.
	Until int64
}

// Recent is one of the last decisions of an actor.
type Recent struct {
	At      int64 // nanoseconds since the Unix epoch
	Cost    int64
	Allowed bool // it was admitted and charged; otherwise this limit or another one of the same check denied it
}

// inspectionJSON is the JSON form of an [Inspection]. 64-bit positions are strings, because many JSON decoders keep only
// 53 bits; they are nanoseconds since the Unix epoch, and the times beside them are the same for people.
type inspectionJSON struct {
	Key       string      `json:"key"`
	Limit     Limit       `json:"limit"`
	Override  string      `json:"override,omitempty"`
	Verdict   string      `json:"verdict,omitempty"`           // of the override: deny or allow, whatever the bucket holds
	Until     string      `json:"override_until_ns,omitempty"` // when it ends
	UntilTime *time.Time  `json:"override_until,omitempty"`
	Plan      string      `json:"plan,omitempty"` // of the last check
	Now       int64       `json:"now_ns,string"`  // the node clock
	Time      time.Time   `json:"now"`
	Tokens    int64       `json:"tokens"`        // that could be spent now
	Unknown   bool        `json:"unknown"`       // no replica has a register of the bucket; see Inspection.Unknown
	TAT       int64       `json:"tat_ns,string"` // the line is spent up to here; before now: the bucket is full
	Credit    int64       `json:"credit_ns,string"`
	Segment   Span        `json:"segment"`                   // reserved and not yet spent
	Next      Span        `json:"next"`                      // the next segment, reserved ahead
	Entries   []entryJSON `json:"entries,omitempty"`         // of a limit that counts entries
	Held      int64       `json:"held,omitempty"`            // of the entries, what checks can be given without asking the replicas
	Holds     *HoldsSeen  `json:"holds,omitempty"`           // of a limit that takes them, where they are known
	Debt      int64       `json:"debt,omitempty"`            // tokens that the bucket is overdrawn by
	Leases    []leaseJSON `json:"leases,omitempty"`          // what edges hold of it
	Closed    string      `json:"closed_until_ns,omitempty"` // a penalty closes the bucket until then
	ClosedAt  *time.Time  `json:"closed_until,omitempty"`
	Denied    int64       `json:"denied_in_a_row,omitempty"`
	Begins    string      `json:"begins_ns,omitempty"` // when a check of one token begins that may wait as long as the limit allows
	BeginsAt  *time.Time  `json:"begins,omitempty"`
	Line      *Span       `json:"line,omitempty"`      // that checks can spend now, but for what is spent already; of a limit that spends a line
	Passes    string      `json:"passes_ns,omitempty"` // when a check of one token passes, if no other comes before
	PassesAt  *time.Time  `json:"passes,omitempty"`
	Full      string      `json:"full_ns,omitempty"` // when the bucket is full again, likewise
	FullAt    *time.Time  `json:"full,omitempty"`
	Awake     bool        `json:"awake"`
	Waiting   int         `json:"waiting"` // checks in the actor's mailbox
	Partition int         `json:"partition"`
	Epoch     uint64      `json:"epoch,string"`
	// Generation goes up with each reset.
	Generation int64        `json:"generation,string"`
	Owner      OwnerID      `json:"owner"`
	Node       string       `json:"node"`
	Registers  []storedJSON `json:"registers"`
	Recent     []recentJSON `json:"recent"` // the newest last
}

// leaseJSON is the JSON form of a [LeaseSeen].
type leaseJSON struct {
	Edge      string    `json:"edge,omitempty"`
	Tokens    int64     `json:"tokens"` // that it may still spend, at most
	Span      Span      `json:"line"`
	Until     int64     `json:"until_ns,string"`
	UntilTime time.Time `json:"until"`
}

// LeasedTokens is how many tokens of a lease may be unspent, at most.
func (in *Inspection) LeasedTokens(l *LeaseSeen) int64 {
	return in.Rule.TokensIn(max(l.End-max(l.Start, in.Now), 0))
}

// entryJSON is the JSON form of an [Entry].
type entryJSON struct {
	At     int64 `json:"at_ns,string"`
	Until  int64 `json:"until_ns,string"` // it counts until then
	Amount int64 `json:"amount"`
	Permit bool  `json:"permit,omitempty"` // its number is for the client alone: with it, the permit can be returned
}

// entries are those of the ledger that count.
func (in *Inspection) entries() (all []entryJSON) {
	if in.Rule == nil || !in.Rule.Counts() {
		return nil
	}
	l, err := in.Counted()
	if err != nil {
		return nil
	}
	l.Used(in.Now)
	entries := l.Entries()
	for i := range entries {
		e := &entries[i]
		all = append(all, entryJSON{At: e.At, Until: l.Until(e), Amount: e.Amount, Permit: e.ID != 0})
	}
	return all
}

// storedJSON is the JSON form of a [Stored].
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

// recentJSON is the JSON form of a [Recent].
type recentJSON struct {
	At      int64     `json:"at_ns,string"`
	Time    time.Time `json:"at"`
	Cost    int64     `json:"cost"`
	Allowed bool      `json:"allowed"`
}

// MarshalJSON writes positions as strings, like the rest of the JSON API, and as times beside them.
func (in Inspection) MarshalJSON() ([]byte, error) {
	b := inspectionJSON{
		Key: in.Key, Override: in.Override, Plan: in.Plan, Now: in.Now, Time: utc(in.Now), Tokens: in.Tokens, Unknown: in.Unknown(), TAT: in.TAT, Credit: in.Credit,
		Segment: in.Segment, Next: in.Next, Awake: in.Awake, Waiting: in.Waiting,
		Partition: in.Partition, Epoch: in.Epoch, Generation: in.Generation, Owner: in.Owner, Node: in.Node,
		Registers: make([]storedJSON, len(in.Registers)), Recent: make([]recentJSON, len(in.Recent)),
	}
	if in.Rule != nil {
		b.Limit, b.Entries, b.Held, b.Line = in.Rule.Limit, in.entries(), in.Held, in.spendable()
		b.Passes, b.PassesAt = textOf(in.Now + int64(in.Wait(1)))
		b.Full, b.FullAt = textOf(in.Now + int64(in.Wait(in.Rule.Capacity)))
	}
	b.Holds, b.Debt, b.Denied, b.Verdict = in.Holds, in.Debt, in.Denied, in.Verdict.String()
	b.Until, b.UntilTime = textOf(in.Until)
	b.Closed, b.ClosedAt = textOf(in.Closed)
	b.Begins, b.BeginsAt = textOf(in.Begins)
	for i := range in.Leases {
		l := &in.Leases[i]
		b.Leases = append(b.Leases, leaseJSON{Edge: l.Edge, Tokens: in.LeasedTokens(l), Span: l.Span, Until: l.Until, UntilTime: utc(l.Until)})
	}
	for i, r := range in.Registers {
		b.Registers[i] = storedJSON(r)
	}
	for i, r := range in.Recent {
		b.Recent[i] = recentJSON{At: r.At, Time: utc(r.At), Cost: r.Cost, Allowed: r.Allowed}
	}
	return json.Marshal(b)
}

// textOf is a time as a position and for people; nothing for 0.
func textOf(ns int64) (position string, at *time.Time) {
	if ns <= 0 {
		return "", nil
	}
	return strconv.FormatInt(ns, 10), new(utc(ns))
}
