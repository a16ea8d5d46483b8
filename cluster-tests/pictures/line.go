package main

import "slices"

const (
	axisLeft, axisRight = 76.0, 736.0
	barHeight           = 20.0
)

// A ruler maps positions on the line to the picture.
type ruler struct{ from, to int64 }

func (r ruler) x(at int64) float64 {
	return axisLeft + (axisRight-axisLeft)*float64(at-r.from)/float64(r.to-r.from)
}

// axis draws the line with a mark at every second.
func (r ruler) axis(d *drawing, y float64) {
	d.line("lane", axisLeft, y, axisRight+8, y)
	step := second
	if (r.to-r.from)/second > 12 {
		step = 2 * second
	}
	for at := r.from; at <= r.to; at += step {
		d.line("lane", r.x(at), y-3, r.x(at), y+3)
		d.text("small dim middle", r.x(at), y+15, place(at))
	}
	d.text("small dim end", axisLeft-8, y+15, "seconds")
}

// bar draws a piece of the line, with a text in it where there is room.
func (r ruler) bar(d *drawing, class string, from, to int64, y, height float64, text string) {
	from, to = max(from, r.from), min(to, r.to)
	x, w := r.x(from), r.x(to)-r.x(from)
	d.rect(class, x, y, w, height)
	if textWidth(text, 11) < w-4 {
		d.text("small middle inside", x+w/2, y+height/2+4, text)
	}
}

// strip draws what became of the line, below y: for every owner what it holds of it and what it has spent. It says where
// the drawing ends.
func (s *scene) strip(d *drawing, y float64, seconds int64) (bottom float64) {
	r := ruler{dawn, dawn + seconds*second}
	d.text("small dim", 20, y+8, "What became of the line: segments that a majority accepted (pale), spans that were spent (dark)")
	if !s.memory {
		d.rect("fsync", 626, y-2, 6, 11)
		d.text("small dim end", 740, y+8, "on a lane: an fsync")
	}
	y += 20
	for _, p := range s.owners {
		d.text("bold end "+p.class, axisLeft-8, y+14, p.name)
		d.rect("free", axisLeft, y, axisRight-axisLeft, barHeight)
		for _, h := range p.held {
			r.bar(d, "held"+number(p), h.from, h.to, y, barHeight, "")
		}
		for _, span := range s.spans {
			if span.by == p {
				r.bar(d, "spent"+number(p), span.Start, span.End, y+4, barHeight-8, piece(span.Start, span.End))
			}
		}
		y += barHeight + 6
	}
	pieces, _ := s.spentTwice()
	for _, p := range pieces {
		r.bar(d, "twice", p.from, p.to, y, barHeight-4, "spent twice")
	}
	if len(pieces) > 0 {
		d.text("bold end wrong", axisLeft-8, y+12, "over")
		y += barHeight + 2
	}
	r.axis(d, y+4)
	return y + 30
}

func number(p *player) string {
	if p.class == "first" {
		return "1"
	}
	return "2"
}

// picture is the whole scene: the diagram, and below it what became of the line.
func (s *scene) picture(title string, seconds int64) string {
	body, bottom := s.draw()
	var d drawing
	d.WriteString(body)
	if slices.ContainsFunc(s.owners, func(p *player) bool { return len(p.held) > 0 }) {
		bottom = s.strip(&d, bottom+16, seconds)
	}
	return page(title, bottom+8, d.String())
}

// theLine is the line of one bucket at one moment.
func theLine() (string, error) {
	s := newScene("caller", "A", "node 1", "node 2", "node 3")
	s.places("node 1", "node 2", "node 3")
	a := s.owner("A")
	for range 2 {
		s.ask("A", 1)
		s.round("A", "node 1", "node 2", "node 3")
	}
	s.at(1000)
	s.rule = demo(20) // two tokens
	s.ask("A", 2)
	s.round("A", "node 1", "node 2", "node 3")
	s.ask("A", 1)
	view, _ := a.View(s.rule.Name, s.now)
	t, tat, hi, bound := s.now, view.TAT.NS, view.Hi, s.rule.Bound(s.now).NS
	s.claim(t < tat && tat < hi && hi < bound, "t, TAT, Hi and t + τ lie in this order: %d %d %d %d", t, tat, hi, bound)
	s.sound()

	var d drawing
	r := ruler{dawn, dawn + 12*second}
	y := 110.0
	r.bar(&d, "free", dawn, r.to, y, 2*barHeight, "")
	for _, h := range a.held {
		r.bar(&d, "held1", h.from, h.to, y, 2*barHeight, "")
	}
	for _, span := range s.spans {
		r.bar(&d, "spent1", span.Start, span.End, y+8, 2*barHeight-16, piece(span.Start, span.End))
	}
	for _, mark := range []struct {
		at                 int64
		anchor, name, what string
		aside              float64
	}{
		{t, "middle", "t", "now", 0},
		{tat, "end", "TAT", "spent up to here", 4},
		{hi, "start", "Hi", "reserved up to here", -4},
		{bound, "end", "t + τ", "no span may end later", 4},
	} {
		x := r.x(mark.at)
		d.line("lane", x, y-14, x, y+2*barHeight+4)
		d.text("bold "+mark.anchor, x+mark.aside, y-34, mark.name)
		d.text("small dim "+mark.anchor, x+mark.aside, y-20, mark.what)
	}
	r.axis(&d, y+2*barHeight+8)
	y += 2*barHeight + 46
	for _, key := range []struct{ class, text string }{
		{"spent1", "a span: what one admission has consumed; its length is cost · T, here T = 1 s"},
		{"held1", "a segment: reserved on a majority, to be spent from memory without asking a replica"},
		{"free", "line that no owner has reserved"},
	} {
		d.rect(key.class, 76, y-10, 14, 12)
		d.text("small", 98, y, key.text)
		y += 19
	}
	return page("A bucket is a line: capacity 10, refill 1/s, at "+when(t), y+6, d.String()), s.err()
}
