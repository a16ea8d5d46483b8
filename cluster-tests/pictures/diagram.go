package main

import "fmt"

const (
	rowHeight = 20.0
	firstLane = 96.0 // the left edge has the clock's times
	lastLane  = 608.0
	laneTop   = 66.0 // the middle of the first row
)

// A diagram is a space-time diagram: a lane for everybody, from left to right, and time that runs down. Everything that
// happens has a row of its own, so that what is written beside a lane never lies on something else that is.
type diagram struct {
	lanes []*lane
	rows  float64 // used so far

	back, front, notes drawing
	clock              []stamp
}

// A lane is one who takes part.
type lane struct {
	name, class string
	x           float64
	from        float64 // the row from which on nothing of it is drawn yet
	down        bool    // it does not run
	frozen      bool    // it stands still
}

type stamp struct {
	row  float64
	text string
}

func newDiagram(names ...string) *diagram {
	d := &diagram{}
	for i, name := range names {
		d.lanes = append(d.lanes, &lane{
			name: name, x: firstLane + (lastLane-firstLane)*float64(i)/float64(len(names)-1),
		})
	}
	return d
}

// lane is the one called name. The scenes name only those that there are.
func (d *diagram) lane(name string) *lane {
	for _, l := range d.lanes {
		if l.name == name {
			return l
		}
	}
	panic(fmt.Sprintf("the picture has no lane %q", name))
}

// next begins a row and says where it is.
func (d *diagram) next() float64 {
	return d.after(1)
}

// after begins a row so many rows below the last one.
func (d *diagram) after(rows float64) float64 {
	d.rows += rows
	return d.rows
}

func (d *diagram) y(row float64) float64 { return laneTop + row*rowHeight }

// tell writes the clock's time beside the next row.
func (d *diagram) tell(text string) {
	if n := len(d.clock); n > 0 && d.clock[n-1].row == d.rows+1 { // nothing has happened since
		d.clock[n-1].text = text
		return
	}
	d.rows += 0.4
	d.clock = append(d.clock, stamp{d.rows + 1, text})
}

// note writes beside a lane, at a row.
func (d *diagram) note(l *lane, row float64, class, text string) {
	d.notes.label("small "+class, l.x+8, d.y(row)+4, text)
}

// noteLeft writes on the other side of a lane, where no arrow that begins at it runs.
func (d *diagram) noteLeft(l *lane, row float64, class, text string) {
	d.notes.label("small end "+class, l.x-8, d.y(row)+4, text)
}

// say is a note in a row of its own, across the whole picture.
func (d *diagram) say(class, text string) {
	d.notes.label("small "+class, firstLane-20, d.y(d.next())+4, text)
	d.rows += 0.3
}

// settle draws a lane up to a row, as it has been until then.
func (d *diagram) settle(l *lane, row float64) {
	y1, y2 := d.y(l.from), d.y(row)
	switch {
	case l.down:
	case l.frozen:
		d.back.rect("still", l.x-6, y1, 12, y2-y1)
	default:
		d.back.line("lane", l.x, y1, l.x, y2)
	}
	l.from = row
}

// ends marks that a lane runs no more from this row on.
func (d *diagram) ends(l *lane, row float64) {
	d.settle(l, row)
	l.down = true
	d.notes.cross(l.x, d.y(row))
}

// runs lets a lane that was down, or stood still, run from this row on.
func (d *diagram) runs(l *lane, row float64) {
	d.settle(l, row)
	l.down, l.frozen = false, false
}

// stands lets a lane stand still from this row on.
func (d *diagram) stands(l *lane, row float64) {
	d.settle(l, row)
	l.frozen = true
}

// between draws an arrow from one lane to another, which need not arrive.
func (d *diagram) between(class string, from *lane, fromRow float64, to *lane, toRow float64) {
	d.front.arrow(class, from.x, d.y(fromRow), to.x, d.y(toRow))
}

// loses draws an arrow that ends on its way.
func (d *diagram) loses(from *lane, fromRow float64, to *lane, toRow, part float64) {
	x := from.x + (to.x-from.x)*part
	y := d.y(fromRow) + (d.y(toRow)-d.y(fromRow))*part
	d.front.line("lost", from.x, d.y(fromRow), x, y)
	d.notes.cross(x, y)
}

// wall is a line that no message passes, between two neighboring lanes.
func (d *diagram) wall(left, right *lane, fromRow, toRow float64) {
	x := left.x + (right.x-left.x)*0.75
	d.back.rect("cut", x-5, d.y(fromRow), 10, d.y(toRow)-d.y(fromRow))
	d.back.line("wall", x, d.y(fromRow), x, d.y(toRow))
}

// draw is the diagram, and where it ends.
func (d *diagram) draw() (body string, bottom float64) {
	end := d.rows + 0.8
	var out drawing
	for _, l := range d.lanes {
		d.settle(l, end)
		out.text("middle bold "+l.class, l.x, laneTop-12, l.name)
	}
	out.WriteString(d.back.String() + d.front.String())
	for _, s := range d.clock {
		out.text("small dim", 20, d.y(s.row)+4, s.text)
	}
	out.WriteString(d.notes.String())
	return out.String(), d.y(end)
}
