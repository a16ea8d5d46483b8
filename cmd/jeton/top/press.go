package top

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// sideways is how far a text moves with each key to the left or right.
const sideways = 8

// maxFilter is how long a filter can be, in bytes: as long as a key.
const maxFilter = 512

// Press does what a key is for: its name, as in "enter", "pgdown" or "ctrl+c", and the text that it writes, if any. It says whether
// the person wants to leave.
func (s *Screen) Press(key, text string) (leave bool) {
	switch {
	case key == "ctrl+c":
		return true
	case s.typing:
		s.write(key, text)
		return false
	case s.help:
		s.help = false
		return false
	}
	switch key {
	case "q":
		return true
	case "?":
		s.help = true
	case "esc", "backspace":
		s.back()
	case "enter":
		s.open()
	case "/":
		s.typing = s.lists()
	case "tab", "shift+tab":
		s.next(key == "tab")
	default:
		if !s.choose(key) {
			s.move(key)
		}
	}
	return false
}

// Write adds text to the filter, where a person writes one: what is pasted.
func (s *Screen) Write(text string) {
	if s.typing {
		s.write("", text)
	}
}

// filter is that of the list on the screen.
func (s *Screen) filter() *string {
	if p := s.place(); p != nil {
		return &p.filter
	}
	return &s.options.Filter
}

// write is a key while the filter is written.
func (s *Screen) write(key, text string) {
	filter := s.filter()
	switch key {
	case "enter":
		s.typing = false
	case "esc":
		s.typing, *filter = false, ""
	case "backspace":
		_, last := utf8.DecodeLastRuneInString(*filter)
		*filter = (*filter)[:len(*filter)-last]
	case "ctrl+u":
		*filter = ""
	default:
		if line, _, _ := strings.Cut(text, "\n"); len(*filter)+len(line) <= maxFilter {
			*filter += line
		}
	}
}

// back goes to where the person was before; from the table, it removes the filter.
func (s *Screen) back() {
	switch {
	case s.place() == nil:
		s.options.Filter = ""
	case !s.alone():
		s.opened = s.opened[:len(s.opened)-1]
	}
}

// open shows what the cursor is at.
func (s *Screen) open() {
	l := s.list()
	if l == nil || len(l.table.rows) == 0 {
		return
	}
	r := l.table.rows[l.selected()]
	l.cursor.row, l.cursor.at = r.id(), l.selected()
	switch {
	case s.place() != nil || s.options.By == Keys:
		if len(r.limits) > 0 {
			s.openBucket(place{what: bucketPlace, name: r.name, limits: r.limits})
		}
	default:
		s.opened = append(s.opened, place{what: s.options.By, name: r.name})
	}
}

// openBucket shows a bucket of which nothing is known yet.
func (s *Screen) openBucket(p place) {
	s.opened = append(s.opened, p)
	s.inside, s.bucket = nil, ""
}

// next shows the next table, or the bucket of the key's next limit.
func (s *Screen) next(forward bool) {
	step := 1
	if !forward {
		step = -1
	}
	switch p := s.place(); {
	case p == nil:
		all := Tables()
		s.table(all[(slices.Index(all, s.options.By)+step+len(all))%len(all)])
	case p.what == bucketPlace:
		p.at = (p.at + step + len(p.limits)) % len(p.limits)
		s.inside, s.bucket = nil, ""
	}
}

// table shows a table, from its beginning.
func (s *Screen) table(by string) {
	if by != s.options.By {
		s.cursor, s.options.Filter = cursor{}, ""
	}
	s.options.By, s.opened = by, nil
}

// choose does what the keys of tables are for. It says whether the key is one.
func (s *Screen) choose(key string) bool {
	if s.alone() {
		return false
	}
	switch key {
	case "l":
		s.table(Limits)
	case "k":
		s.table(Keys)
	case "n":
		s.table(Nodes)
	case "g":
		s.table(Gateways)
	case "t":
		s.options.Sort = Traffic
	case "d":
		s.options.Sort = Denials
	case "u":
		s.options.Sort = Utilization
	case "r":
		s.options.Reverse = !s.options.Reverse
	case "p":
		if p := s.place(); p == nil || p.what != problemsPlace {
			s.opened = append(s.opened, place{what: problemsPlace})
		}
	default:
		return false
	}
	return true
}

// move moves the cursor, or a text.
func (s *Screen) move(key string) {
	screenful := max(s.height/2, 1)
	steps := map[string]int{"up": -1, "down": 1, "pgup": -screenful, "pgdown": screenful, "home": -end, "end": end}
	if l := s.list(); l != nil {
		if step, known := steps[key]; known && len(l.table.rows) > 0 {
			l.cursor.at = min(max(l.selected()+step, 0), len(l.table.rows)-1)
			l.cursor.row = l.table.rows[l.cursor.at].id()
		}
		return
	}
	if p := s.place(); p != nil {
		p.cursor.from = max(p.cursor.from+steps[key], 0)
		p.cursor.side = max(p.cursor.side+map[string]int{"left": -sideways, "right": sideways}[key], 0)
	}
}

// end is further than any list goes.
const end = 1 << 20
