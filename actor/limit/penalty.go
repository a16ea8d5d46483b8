package limit

import (
	"fmt"
	"time"
)

// A Penalty closes a bucket after so many denials in a row: first for a time, then for twice the one before less the time that passed
// since, up to a longest. The zero Penalty never does.
type Penalty struct {
	// After is how many denials in a row close the bucket: with no admission between, and none later than For after the one before. From 1
	// to 1,000,000.
	After int64
	// For is how long the first penalty lasts, and Max the longest. From 1 s to 24 h, in whole milliseconds; Max is not shorter.
	For, Max time.Duration
}

// The ranges of a penalty. A shorter one is no longer than a retry; a longer one keeps out for days who has mistyped a password.
const (
	maxPenaltyAfter = 1_000_000
	minPenalty      = time.Second
	maxPenalty      = 24 * time.Hour
)

// check checks the penalty of a limit.
func (p Penalty) check() error {
	if p == (Penalty{}) {
		return nil
	}
	switch {
	case p.After == 0:
		return &FieldError{Field: "penalty_after", Problem: "is missing: say how many denials in a row close the bucket, such as 10"}
	case p.After < 0 || p.After > maxPenaltyAfter:
		return &FieldError{Field: "penalty_after", Problem: fmt.Sprintf("%d is not between 1 and %d denials", p.After, maxPenaltyAfter)}
	}
	for _, f := range []struct {
		name, what string
		is         time.Duration
	}{{"penalty_for", "how long the first penalty lasts, such as 1m", p.For}, {"penalty_max", "how long the longest penalty lasts, such as 1h", p.Max}} {
		switch {
		case f.is == 0:
			return &FieldError{Field: f.name, Problem: "is missing: say " + f.what}
		case f.is < minPenalty || f.is > maxPenalty:
			return &FieldError{Field: f.name, Problem: fmt.Sprintf("%s is not between %s and %s", durationText(f.is), durationText(minPenalty), durationText(maxPenalty))}
		case f.is%time.Millisecond != 0:
			return &FieldError{Field: f.name, Problem: durationText(f.is) + " is no whole number of milliseconds, in which times are told"}
		}
	}
	if p.Max < p.For {
		return &FieldError{Field: "penalty_max", Problem: fmt.Sprintf("%s is shorter than penalty_for, %s", durationText(p.Max), durationText(p.For))}
	}
	return nil
}

// Next is how long a penalty lasts that begins at t, after one of that length that ended at ended; 0 for none before.
func (p Penalty) Next(t int64, before time.Duration, ended int64) time.Duration {
	if before == 0 {
		return p.For
	}
	return min(max(2*before-time.Duration(t-ended), p.For), p.Max)
}

// A Row is of the denials of a bucket with no admission between.
type Row struct {
	Denied int64
	Last   int64 // when the last one was
}

// Deny adds a denial at t, and says whether it closes the bucket: then a new row begins.
func (r *Row) Deny(t int64, p Penalty) (closes bool) {
	if t-r.Last > int64(p.For) {
		r.Denied = 0
	}
	r.Denied++
	r.Last = max(r.Last, t)
	if closes = r.Denied >= p.After; closes {
		r.Denied = 0
	}
	return closes
}

// A Closing is what closes a bucket in the memory of one process that decides alone, such as one that replays a log. The times that it is
// given do not go back.
type Closing struct {
	row    Row
	end    int64
	lasted time.Duration
}

// For is for how long after t the bucket is closed; 0 for not.
func (c *Closing) For(t int64) time.Duration { return time.Duration(max(c.end-t, 0)) }

// Deny notes a denial at t of a bucket that was open, and says whether that closes it.
func (c *Closing) Deny(t int64, p Penalty) bool {
	if p == (Penalty{}) || !c.row.Deny(t, p) {
		return false
	}
	c.lasted = p.Next(t, c.lasted, c.end)
	c.end = t + int64(c.lasted)
	return true
}

// Admit ends the row of denials.
func (c *Closing) Admit() { c.row.Denied = 0 }
