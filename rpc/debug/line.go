package debug

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/plain"
)

// How wide a page is, in characters.
const (
	pageWidth  = 100
	leastWidth = 40 // of a drawing
	beside     = 4  // what of a page is not the bar: the indent and the ends
	barWidth   = pageWidth - beside
)

// What the drawing of a line is made of.
const (
	spent    = '#'
	credit   = 'o'
	reserved = '='
	free     = '.'
	leased   = '%' // passed down to edges, which may not have spent it
	skipped  = '-' // lies before the line that the algorithm spends now
)

// The legend explains them. Most algorithms skip nothing.
const (
	legend        = "# spent   = reserved by this owner, to be spent from memory   o given back   . free"
	legendSkipped = "   - skipped"
	legendLeased  = "   % leased"
)

// A drawing is a stretch of a bucket's line, from now to the last position that matters:
//
//	now                                                      can be spent up to now + 1h
//	|################################==========........................................|
//	                                 |         |
//	                                 |         segment ends: now + 52m
//	                                 TAT: now + 45m
type drawing struct {
	from, to int64 // positions
	cells    []byte
	marks    []mark
}

// width is how many cells it has.
func (d *drawing) width() int { return len(d.cells) }

// A mark says what is at a position.
type mark struct {
	at   int64
	text string
}

// draw makes the drawing of in, so many cells wide: what the limit's algorithm lets checks spend now, and how much of that is spent.
func draw(in limit.Inspection, width int) []string {
	begin, bound := in.Rule.Begin(in.Now), in.Rule.Bound(in.Now).NS
	d := &drawing{from: in.Now, to: max(bound, in.TAT, in.Segment.End, in.Next.End), cells: bytes.Repeat([]byte{' '}, width)}
	d.fill(begin, bound, free)
	d.fill(in.Now, in.TAT, spent)
	d.fill(in.TAT-in.Credit, in.TAT, credit)
	for i := range in.Leases {
		d.fill(in.Leases[i].Start, in.Leases[i].End, leased)
	}
	d.fill(in.Now, begin, skipped)
	explained := legend
	if begin > in.Now {
		d.mark(begin, "can be spent from here", in.Now)
		explained += legendSkipped
	}
	if len(in.Leases) > 0 {
		explained += legendLeased
	}
	if in.TAT > in.Now {
		d.mark(in.TAT, "TAT, spent up to here", in.Now)
	}
	for i, s := range []limit.Span{in.Segment, in.Next} {
		if s.End > max(s.Start, in.Now) {
			d.fill(s.Start, s.End, reserved)
			d.mark(s.End, []string{"segment ends", "next segment ends"}[i], in.Now)
		}
	}
	right := "can be spent up to " + relative(bound, in.Now)
	if d.to > bound {
		d.mark(bound, "can be spent up to here", in.Now)
		right = relative(d.to, in.Now)
	}
	gap := width + 2 - utf8.RuneCountInString("now"+right)
	lines := []string{"now" + strings.Repeat(" ", max(gap, 1)) + right, "|" + string(d.cells) + "|"}
	return append(append(lines, d.pointers()...), explained)
}

// column is where a position lies among the cells: 0 to their number.
func (d *drawing) column(at int64) int {
	switch {
	case at <= d.from:
		return 0
	case at >= d.to:
		return d.width()
	}
	hi, lo := bits.Mul64(uint64(at-d.from), uint64(d.width()))
	column, _ := bits.Div64(hi, lo, uint64(d.to-d.from))
	return int(column)
}

// fill draws a piece of the line, at least a cell of it if it is longer than nothing.
func (d *drawing) fill(from, to int64, with byte) {
	if to <= max(from, d.from) {
		return
	}
	start := min(d.column(from), d.width()-1)
	for i := start; i < max(d.column(to), start+1); i++ {
		d.cells[i] = with
	}
}

func (d *drawing) mark(at int64, text string, now int64) {
	d.marks = append(d.marks, mark{at, text + ": " + relative(at, now)})
}

// pointers are the lines below the bar that say what lies where, the rightmost first.
func (d *drawing) pointers() []string {
	if len(d.marks) == 0 {
		return nil
	}
	slices.SortStableFunc(d.marks, func(a, b mark) int { return cmp.Compare(a.at, b.at) })
	lines := []string{d.pointer(len(d.marks), "")}
	for i, m := range slices.Backward(d.marks) {
		lines = append(lines, d.pointer(i, m.text))
	}
	return lines
}

// pointer draws the marks before the n-th, and text where the n-th is: from there on, or up to there if that is too
// near to the right end.
func (d *drawing) pointer(n int, text string) string {
	line := []rune(strings.Repeat(" ", d.width()+2))
	for _, m := range d.marks[:n] {
		line[d.column(m.at)+1] = '|'
	}
	if label := []rune(text); len(label) > 0 {
		start := d.column(d.marks[n].at) + 1
		if start+len(label) > len(line) {
			start = max(start+1-len(label), 0)
		}
		copy(line[start:], label)
	}
	return strings.TrimRight(string(line), " ")
}

// relative is a position as seen from now.
func relative(at, now int64) string {
	switch {
	case at > now:
		return "now + " + plain.Duration(time.Duration(at-now))
	case at < now:
		return "now − " + plain.Duration(time.Duration(now-at))
	}
	return "now"
}

// position is a place on the line as seen from now, and as a time.
func position(at, now int64) string {
	if at == 0 {
		return "the beginning"
	}
	return relative(at, now) + " (" + clock(at) + ")"
}

// clock is a position as a time.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05.000000 UTC") }
