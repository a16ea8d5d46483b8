package top

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/rpc/activity"
)

// A list is a table on the screen in which a person moves.
type list struct {
	above  []line // what stands above it
	table  table
	cursor *cursor
	empty  string // what stands in the place of rows where there are none
}

// list is the one on the screen; nil where text is shown.
func (s *Screen) list() *list {
	switch p := s.place(); {
	case !s.lists():
		return nil
	case p != nil:
		return s.keysOf(p)
	}
	return s.tables()
}

// NoBusyKey says that a table of keys is empty: it has those that nodes count, which are the busy ones.
const NoBusyKey = "no key has 32 checks a second or more"

// nothing is what stands in the place of the rows of each table.
var nothing = map[string]string{
	Limits: "no check was decided", Keys: NoBusyKey + ": / looks for others", Nodes: "no node has answered", Gateways: "no gateway has told what it does",
}

// tables is the list of the table that was chosen.
func (s *Screen) tables() *list {
	t := tableOf(s.view, &s.options)
	if s.options.By == Keys {
		t = tableOfKeys(joined(busyKeys(s.view), s.foundKeys()), "")
		t.rows = s.options.apply(t.rows)
	}
	var tabs strings.Builder
	for _, name := range Tables() {
		if name == s.options.By {
			tabs.WriteString("[" + name + "]")
		} else {
			tabs.WriteString(" " + name + " ")
		}
	}
	above := append([]line{{tabs.String() + s.order(s.options.Filter, len(t.rows)), strong}}, s.search()...)
	return &list{above, t, &s.cursor, nothing[s.options.By]}
}

// keysOf is the list of the keys of a limit, below what there is to say of it.
func (s *Screen) keysOf(p *place) *list {
	t := tableOfKeys(joined(busyKeys(s.view), s.foundKeys()), p.name)
	shownAs := s.options
	shownAs.Filter = p.filter
	t.rows = shownAs.apply(t.rows)
	above := []line{{"limit " + shown(p.name), strong}}
	for i := range s.view.Limits {
		if l := &s.view.Limits[i]; l.Name == p.name {
			above = append(above, line{fmt.Sprintf("allowed %s/s  denied %s/s (%s)  fullest bucket %s used",
				rate(l.Allowed), rate(l.Denied), share(l.DeniedShare), share(l.Used)), normal},
				line{fmt.Sprintf("failed open %s/s, closed %s/s  errors %s/s", rate(l.FailedOpen), rate(l.FailedClosed), rate(l.Errors)), normal})
		}
	}
	above = append(above, line{"busiest keys" + s.order(p.filter, len(t.rows)), strong})
	return &list{append(above, s.search()...), t, &p.cursor, "none of its keys has 32 checks a second or more: / looks for others"}
}

// order says how many rows are shown, in which order, and by which filter.
func (s *Screen) order(filter string, rows int) string {
	text := fmt.Sprintf("  %d by %s", rows, s.options.Sort)
	if s.options.Reverse {
		text += ", reversed"
	}
	switch {
	case s.typing:
		return text + "  /" + shown(filter) + "_"
	case filter != "":
		return text + "  /" + shown(filter)
	}
	return text
}

// foundKeys are those that the search of now has found.
func (s *Screen) foundKeys() []activity.Key {
	if asked := s.Searched(); asked != nil && s.found != nil && s.found.Search == *asked {
		return s.found.Keys
	}
	return nil
}

// search says what is known of the search of now.
func (s *Screen) search() []line {
	asked := s.Searched()
	if asked == nil {
		return nil
	}
	prefix := " " + shown(asked.Prefix)
	f := s.found
	switch {
	case f == nil || f.Search != *asked:
		return []line{{"looking for keys that begin with" + prefix, quiet}}
	case f.Error != "":
		return []line{{"keys that begin with" + prefix + ": " + shown(f.Error), warning}}
	}
	text := "in memory: " + counted(len(f.Keys), "key that begins with", "keys that begin with") + prefix
	if !f.Complete {
		text += ", and maybe more"
	}
	if len(f.Silent) > 0 {
		names := make([]string, len(f.Silent))
		for i, name := range f.Silent {
			names[i] = shown(name)
		}
		text += "; without " + strings.Join(names, ", ")
	}
	return []line{{text, quiet}}
}

// selected is where the cursor is among the rows: at the row that it was at, or where that was.
func (l *list) selected() int {
	rows := l.table.rows
	if len(rows) == 0 {
		return 0
	}
	for i := range rows {
		if l.cursor.row != "" && rows[i].id() == l.cursor.row {
			return i
		}
	}
	return min(l.cursor.at, len(rows)-1)
}

// lines are the list as it fits into a size, with the row of the cursor marked.
func (l *list) lines(width, height int) []line {
	out := append([]line(nil), l.above...)
	rows, room := len(l.table.rows), max(height-len(out)-1, 1)
	at := l.selected()
	c := l.cursor
	c.at, c.from = at, max(min(c.from, at, rows-room), at-room+1, 0)
	t, widths := l.table.part(c.from, min(c.from+room, rows)).fit(width - len(mark))
	out = append(out, line{blank + t.titles(widths), quiet})
	if rows == 0 {
		return append(out, line{blank + l.empty, quiet})
	}
	for i, r := range t.rows {
		text, drawn := blank+t.line(r.cells, widths), r.look
		if c.from+i == at {
			text, drawn = pad(mark+t.line(r.cells, widths), width, false), chosen
		}
		out = append(out, line{text, drawn})
	}
	return out
}

// What stands before the row of the cursor, and before the others.
const (
	mark  = "> "
	blank = "  "
)
