package limit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// HoldsSeen are the holds of a bucket as an [Inspection] shows them.
type HoldsSeen struct {
	Open    int        // how many holds are open
	Tokens  int64      // how many tokens the open ones hold now
	Expires int64      // when the first of the open ones expires, in nanoseconds since the Unix epoch; 0 if none is open
	Total   int        // how many holds are known, of any state
	List    []SeenHold // the newest [MaxHoldsSeen] of these, the newest first
}

// MaxHoldsSeen is how many holds an Inspection lists at most.
const MaxHoldsSeen = 100

// A SeenHold is one hold as an [Inspection] lists it.
type SeenHold struct {
	ID     uint64 // see SeenID
	State  HoldState
	Amount int64 // tokens that it was granted
	Used   int64 // tokens that settlements have said to be used, so far
	Until  int64 // when it expires, or would have expired, in nanoseconds since the Unix epoch
}

// SeenID is the number under which a hold with that id is listed. It is a digest: with the id itself, whoever may look at a bucket
// could settle the holds of others.
func SeenID(id uint64) uint64 {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, id))
	return binary.BigEndian.Uint64(sum[:])
}

// SeeHolds are the holds of a list that has the newest last, of which see shows the one at place i, and how many tokens it has taken.
// The id that see gives is the hold's own.
func SeeHolds(n int, see func(i int) (h SeenHold, taken int64)) *HoldsSeen {
	seen := &HoldsSeen{Total: n}
	for i := n - 1; i >= 0; i-- {
		h, taken := see(i)
		if h.State == HoldOpen {
			seen.Open++
			seen.Tokens += taken
			if seen.Expires == 0 || h.Until < seen.Expires {
				seen.Expires = h.Until
			}
		}
		if len(seen.List) < MaxHoldsSeen {
			h.ID = SeenID(h.ID)
			seen.List = append(seen.List, h)
		}
	}
	return seen
}

// SeeHolds are the holds that the ledger lists, as they are at t, by the clock of the ledger's owner.
func (l *Ledger) SeeHolds(t int64) *HoldsSeen {
	return SeeHolds(len(l.holds), func(i int) (SeenHold, int64) {
		h := &l.holds[i]
		now := h.clock(t, l.late)
		return SeenHold{ID: h.ID, State: h.State(now), Amount: h.Amount, Used: h.Used, Until: h.Until - h.clock(0, l.late)}, h.Charged(now)
	})
}

// ShowLedger shows how full the bucket of a limit that counts entries is, and its holds, as its ledger has them.
func (in *Inspection) ShowLedger(l *Ledger) {
	free := l.Free(in.Now) + in.Held // before the holds: it frees those that have expired
	in.Tokens = max(free, 0)
	if in.Rule.Holds.Longest > 0 || len(l.holds) > 0 {
		in.Holds, in.Debt = l.SeeHolds(in.Now), max(0, -free)
	}
}

// holdsJSON is the JSON form of [HoldsSeen].
type holdsJSON struct {
	Open    int          `json:"open"`
	Tokens  int64        `json:"tokens"` // that the open ones hold
	Expires string       `json:"expires_ns,omitempty"`
	Time    *time.Time   `json:"expires,omitempty"`
	Total   int          `json:"total"`
	List    []holdInJSON `json:"list"` // the newest first
}

type holdInJSON struct {
	ID     string    `json:"id"`
	State  HoldState `json:"state"`
	Amount int64     `json:"amount"`
	Used   int64     `json:"used"`
	Until  int64     `json:"until_ns,string"`
	Time   time.Time `json:"until"`
}

// MarshalJSON writes positions as strings, and as times beside them, like [Inspection.MarshalJSON].
func (s HoldsSeen) MarshalJSON() ([]byte, error) {
	out := holdsJSON{Open: s.Open, Tokens: s.Tokens, Total: s.Total, List: make([]holdInJSON, len(s.List))}
	if s.Expires > 0 {
		expires := utc(s.Expires)
		out.Expires, out.Time = strconv.FormatInt(s.Expires, 10), &expires
	}
	for i, h := range s.List {
		out.List[i] = holdInJSON{ID: h.Name(), State: h.State, Amount: h.Amount, Used: h.Used, Until: h.Until, Time: utc(h.Until)}
	}
	return json.Marshal(out)
}

// Name is the id as people and programs are shown it: 16 hexadecimal digits.
func (h *SeenHold) Name() string { return fmt.Sprintf("%016x", h.ID) }

// utc is a position as a time for people. The node clock, and so every position, lies in the years that JSON can hold.
func utc(ns int64) time.Time { return time.Unix(0, ns).UTC() }
