package debug

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/plain"
)

// WriteBucket draws a bucket on its line and says all that is known of it, for people, 100 characters wide. For each of
// costs, which are 0 or more, it says when a check of that cost would pass.
func WriteBucket(w io.Writer, in limit.Inspection, costs ...int64) error {
	return WriteBucketWithin(w, pageWidth, in, costs...)
}

// WriteBucketWithin is WriteBucket with a drawing that is no wider than width, if that is 40 or more. Sentences may be longer.
func WriteBucketWithin(w io.Writer, width int, in limit.Inspection, costs ...int64) error {
	p := &page{w: w}
	p.line("%s of %s, %s", in.Rule.Name, strconv.Quote(in.Key), clock(in.Now))
	p.line("")
	if in.Verdict != limit.Decides {
		p.rows([]row{verdictRow(in)})
		p.line("")
		p.line("  The bucket beneath decides nothing until then. Without the override:")
		p.line("")
	}
	p.rows(tokenRows(in, costs))
	p.line("")
	if in.Rule.Counts() {
		p.rows(entryRows(in))
	} else {
		for _, line := range draw(in, min(max(width, leastWidth), pageWidth)-beside) {
			p.line("  %s", line)
		}
	}
	p.line("")
	p.rows(placeRows(in))
	p.line("")
	p.rows(decisionRows(in))
	return p.err
}

// verdictRow says what an override decides in the place of the bucket, and until when.
func verdictRow(in limit.Inspection) row {
	until := "until the override is unset"
	if in.Until != 0 {
		until = "until " + position(in.Until, in.Now)
	}
	if in.Verdict == limit.Denies {
		return row{"denied", fmt.Sprintf("every check, %s: %s", until, in.Override)}
	}
	return row{"allowed", fmt.Sprintf("every check, uncounted, %s: %s", until, in.Override)}
}

// tokenRows say what the limit admits, and what can be spent when.
func tokenRows(in limit.Inspection, costs []int64) []row {
	r, envelope := in.Rule, in.Rule.Envelope()
	rows := []row{
		{"limit", described(r)},
		{"admits", fmt.Sprintf("at most %d tokens in a burst, and %s after it", envelope.Burst, envelope.Refill)},
		{"tokens now", fmt.Sprintf("%d of %d", in.Tokens, r.Capacity)},
	}
	if in.Tokens >= r.Capacity {
		rows[len(rows)-1].text += ": full"
	}
	rows = append(rows, edgeRows(r)...)
	rows = append(rows, leaseRows(in)...)
	rows = append(rows, holdRows(in)...)
	if in.Closed > 0 {
		rows = append(rows, row{"closed", fmt.Sprintf("by a penalty, until %s: every check is denied", position(in.Closed, in.Now))})
	}
	if p := in.Rule.Penalty; in.Denied > 0 {
		rows = append(rows, row{"denied", fmt.Sprintf("%d in a row: a penalty comes after %d", in.Denied, p.After)})
	}
	if in.Override != "" && in.Verdict == limit.Decides {
		rows = slices.Insert(rows, 1, row{"override", in.Override})
	}
	if in.Plan != "" {
		rows = slices.Insert(rows, 1, row{"plan", in.Plan + ": these are its numbers"})
	}
	if in.Unknown() {
		rows = append(rows, row{"", "no replica has a bucket for this key yet, or no longer: full ones are removed"})
	}
	if in.Tokens > 0 {
		window := r.Window(in.Tokens, in.Wait(r.Capacity))
		rows = append(rows, row{"window", plain.Duration(window) + ": over this time a client can spread the tokens that are left"})
	}
	if in.Tokens < r.Capacity {
		rows = append(rows,
			row{"one more", "in " + plain.Duration(in.Wait(in.Tokens+1))},
			row{"full", "in " + plain.Duration(in.Wait(r.Capacity))})
		if half := r.Capacity / 2; len(costs) == 0 && half > in.Tokens+1 {
			costs = []int64{half}
		}
	}
	if r.MaxWait > 0 && in.Closed == 0 && in.Verdict == limit.Decides {
		rows = append(rows, row{"wait", beginsIn(in)})
	}
	for _, cost := range costs {
		rows = append(rows, row{fmt.Sprintf("cost %d", cost), passes(in, cost)})
	}
	return rows
}

// described says what the limit is.
func described(r *limit.Rule) string {
	text := r.Algorithm + ", " + strings.Join(r.Terms(), ", ")
	if r.Counts() {
		return text + ": what was admitted counts for " + plain.Duration(r.Fill())
	}
	return text + fmt.Sprintf(": a token is %s of line, an empty bucket is full within %s",
		plain.Duration(time.Duration(r.Length(1).Ceil())), plain.Duration(r.Fill()))
}

func passes(in limit.Inspection, cost int64) string {
	switch {
	case cost > in.Rule.Capacity:
		return "can never pass: it is above the capacity"
	case cost <= in.Tokens && in.Closed == 0:
		return "would pass now"
	}
	return "would pass in " + plain.Duration(in.Wait(cost))
}

// beginsIn says in how long a check begins that may wait.
func beginsIn(in limit.Inspection) string {
	longest := plain.Duration(in.Rule.MaxWait)
	switch {
	case in.Begins == 0:
		return "a check of one token would have to wait longer than " + longest + ": it is denied"
	case in.Begins <= in.Now:
		return "a check of one token begins at once; the longest wait is " + longest
	}
	return "a check of one token that waits begins in " + plain.Duration(time.Duration(in.Begins-in.Now)) + "; the longest wait is " + longest
}

// placeRows say where the bucket lives and what is known of it there.
func placeRows(in limit.Inspection) []row {
	var rows []row
	if !in.Rule.Counts() {
		rows = []row{{"TAT", position(in.TAT, in.Now)}, {"segment", segment(in.Segment, in)}}
	} else if in.Held > 0 {
		rows = []row{{"held", fmt.Sprintf("%d, entered already, for the next checks", in.Held)}}
	}
	if in.Next.End > in.Next.Start {
		rows = append(rows, row{"next", segment(in.Next, in)})
	}
	if in.Credit > 0 {
		rows = append(rows, row{"credit", plain.Duration(time.Duration(in.Credit)) + " of returned line, to be spent again first"})
	}
	rows = append(rows,
		row{"actor", awake(in)},
		row{"owner", in.Owner.String() + " on " + in.Node},
		row{"place", fmt.Sprintf("partition %d, epoch %d, generation %d", in.Partition, in.Epoch, in.Generation)})
	for i, s := range in.Registers {
		rows = append(rows, registerRows(i+1, s, in)...)
	}
	return rows
}

// maxEntries is how many entries a page lists.
const maxEntries = 12

// entryRows are the entries that count, the newest first.
func entryRows(in limit.Inspection) []row {
	l, err := in.Counted()
	if err != nil {
		return []row{{"entries", err.Error()}}
	}
	l.Used(in.Now)
	all := l.Entries()
	if len(all) == 0 {
		return []row{{"entries", "none: nothing that was admitted counts any more"}}
	}
	var rows []row
	for i := len(all) - 1; i >= 0 && len(rows) < maxEntries; i-- {
		e := &all[i]
		what := fmt.Sprintf("%d", e.Amount)
		if e.ID != 0 {
			what += ", a permit" // its number is for the client alone: with it, the permit can be returned
		}
		rows = append(rows, row{"", fmt.Sprintf("%s: %s, until %s", relative(e.At, in.Now), what, relative(l.Until(e), in.Now))})
	}
	if more := len(all) - len(rows); more > 0 {
		rows = append(rows, row{"", fmt.Sprintf("and %d older ones", more)})
	}
	rows[0].name = "entries"
	return rows
}

func segment(s limit.Span, in limit.Inspection) string {
	start := max(s.Start, in.Rule.Begin(in.Now))
	if s.End <= start {
		return "nothing left to spend"
	}
	length := s.End - start
	held := in.Rule.Tokens(limit.At(in.Rule.Bound(in.Now).NS-length), in.Now)
	return fmt.Sprintf("%s of line, %d whole tokens, up to %s", plain.Duration(time.Duration(length)), held, position(s.End, in.Now))
}

func awake(in limit.Inspection) string {
	if !in.Awake {
		return "asleep: no check is under way, and its state can be dropped without loss"
	}
	return fmt.Sprintf("awake, %d checks waiting in its mailbox", in.Waiting)
}

// registerRows say what the n-th replica has on disk.
func registerRows(n int, s limit.Stored, in limit.Inspection) []row {
	now := in.Now
	text := "no register: full, as far as this replica knows"
	switch {
	case s.Error != "":
		text = "cannot be read: " + s.Error
	case s.Exists:
		text = fmt.Sprintf("generation %d, reserved up to %s", s.Generation, position(s.Reserved, now))
	}
	rows := []row{{fmt.Sprintf("replica %d", n), s.Node + ": " + text}}
	switch {
	case s.Error != "":
	case s.Epoch != in.Epoch:
		rows = append(rows, row{"", fmt.Sprintf("in epoch %d: not counted until it reaches epoch %d", s.Epoch, in.Epoch)})
	case s.Sealed:
		rows = append(rows, row{"", "sealed: the replica set is changing"})
	}
	if s.Floor != 0 {
		rows = append(rows, row{"", "floor " + position(s.Floor, now)})
	}
	if s.Horizon != 0 {
		rows = append(rows, row{"", "swept up to " + position(s.Horizon, now)})
	}
	return rows
}

// decisionRows are the last decisions, the newest first, in columns.
func decisionRows(in limit.Inspection) []row {
	if len(in.Recent) == 0 {
		return []row{{"decisions", "none in the actor's memory: it forgets them when the key is idle"}}
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, d := range slices.Backward(in.Recent) {
		word := "denied"
		switch {
		case d.Allowed && d.Cost == 0:
			word = "allowed, a look"
		case d.Allowed:
			word = "allowed"
		}
		fmt.Fprintf(table, "%s\tcost %d\t%s\n", relative(d.At, in.Now), d.Cost, word)
	}
	_ = table.Flush() // to memory
	var rows []row
	for line := range strings.Lines(text.String()) {
		rows = append(rows, row{"", strings.TrimSuffix(line, "\n")})
	}
	rows[0].name = "decisions"
	return rows
}
