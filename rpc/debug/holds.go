package debug

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/plain"
)

// WriteHolds shows the holds of a bucket as a table, for people, or says why there is none.
func WriteHolds(w io.Writer, in limit.Inspection) error {
	p := &page{w: w}
	switch seen := in.Holds; {
	case seen == nil && in.Rule.Holds.Longest == 0:
		p.line("limit %s takes no holds: the field hold of the limit says how long one may last", in.Rule.Name)
		return p.err
	case (seen == nil || seen.Total == 0) && in.Unknown() && !in.Awake:
		p.line("%s: nothing is known of this key: no check has asked for it, or its bucket has filled up since and was removed", in.Rule.Name)
	case seen == nil || seen.Total == 0:
		p.line("%s: %s", in.Rule.Name, holdsText(in))
	default:
		for _, line := range holdTable(seen, in.Now) {
			p.line("%s", line)
		}
		if more := seen.Total - len(seen.List); more > 0 {
			p.line("and %d older ones", more)
		}
		p.line("")
		p.line("%s: %s", in.Rule.Name, holdsText(in))
	}
	if in.Debt > 0 {
		p.line("%s: %s", in.Rule.Name, debtText(in.Debt))
	}
	if in.Debt > 0 || in.Holds != nil && in.Holds.Total > 0 {
		p.line("where a gateway counts money by this limit, a token is a millionth of the unit of its prices")
	}
	return p.err
}

// holdTable has a line for the columns, and one for each hold.
func holdTable(seen *limit.HoldsSeen, now int64) []string {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "hold\tstate\theld\tused\texpires in")
	for i := range seen.List {
		h := &seen.List[i]
		_ = plain.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", h.Name(), h.State, h.Amount, h.Used, expires(h, now))
	}
	_ = table.Flush() // to memory
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

// expires says in how long a hold expires, or how long ago it did.
func expires(h *limit.SeenHold, now int64) string {
	switch h.State {
	case limit.HoldOpen:
		return plain.Duration(time.Duration(max(0, h.Until-now)))
	case limit.HoldExpired:
		return plain.Duration(time.Duration(max(0, now-h.Until))) + " ago"
	case limit.HoldSettled, limit.HoldLost, limit.HoldUnknown:
	}
	return "–"
}

// holdRows say what holds have taken of the bucket, if its limit takes them.
func holdRows(in limit.Inspection) (rows []row) {
	if in.Holds != nil || in.Rule.Holds.Longest > 0 {
		rows = append(rows, row{"holds", holdsText(in)})
	}
	if in.Debt > 0 {
		rows = append(rows, row{"debt", debtText(in.Debt)})
	}
	return rows
}

func debtText(debt int64) string {
	return counted(debt, "token") + " more were charged than the bucket had"
}

// holdsText sums up the holds.
func holdsText(in limit.Inspection) string {
	seen := in.Holds
	switch {
	case seen == nil:
		text := "not known: they are in the memory of the owner that took them, and the one at " + in.Node + " has none of this key"
		if slices.ContainsFunc(in.Registers, func(s limit.Stored) bool { return s.Exists }) {
			text += "; the key was used: its owner is gone, or has let the bucket go"
		}
		return text
	case seen.Total == 0:
		return "none"
	case seen.Open == 0:
		return fmt.Sprintf("none is open; %d expired, settled or lost", seen.Total)
	}
	text := fmt.Sprintf("%s held by %s, the first expires in %s", counted(seen.Tokens, "token"), counted(int64(seen.Open), "open hold"),
		plain.Duration(time.Duration(max(0, seen.Expires-in.Now))))
	if rest := seen.Total - seen.Open; rest > 0 {
		text += fmt.Sprintf("; %d more expired, settled or lost", rest)
	}
	return text
}

// counted is a number of things.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
