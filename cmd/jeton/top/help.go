package top

// A hand is a key to press and what it does.
type hand struct{ key, does string }

// hands are the keys of the tables.
var hands = []hand{
	{"l k n g", "limits, keys, nodes, gateways; tab the next of them"},
	{"t d u", "order by traffic, denials, utilization (of buckets, or memory)"},
	{"r", "the lowest first"},
	{"/", "filter by text; also finds idle keys that begin with it"},
	{"up down", "move; also page up, page down, home, end"},
	{"enter", "open: a limit and its keys, the bucket of a key, a node …"},
	{"tab", "in a bucket: that of the next limit of the key"},
	{"left right", "move a text that is wider than the screen"},
	{"p", "all problems, with what to do"},
	{"esc", "back; without anything open: no filter"},
	{"?", "this help"},
	{"q", "end; also ctrl+c"},
}

// words explain what the screen shows.
var words = []hand{
	{"allowed/s", "checks that were allowed, a second, since the last look"},
	{"denied/s", "checks that were denied; denied: their share"},
	{"failed-open/s", "passed by gateways without a decision; -closed/s: refused"},
	{"errors/s", "answered by a node with an error, not a decision"},
	{"used", "how full the fullest busy bucket is; left: tokens in it"},
	{"share", "of the checks of the key's node; hot keys are yellow"},
	{"-", "nothing is known"},
}

// helpLines are the help. A screen of one bucket has no tables.
func helpLines(alone bool) []line {
	lines := []line{{"keys", strong}}
	for _, h := range hands {
		if alone && len(h.key) > 0 && !ofBuckets[h.key] {
			continue
		}
		lines = append(lines, line{blank + pad(h.key, 14, false) + h.does, normal})
	}
	if alone {
		return lines
	}
	lines = append(lines, line{}, line{"words", strong})
	for _, h := range words {
		lines = append(lines, line{blank + pad(h.key, 14, false) + h.does, normal})
	}
	return lines
}

// ofBuckets are the keys that do something in a bucket that has no table below it.
var ofBuckets = map[string]bool{"up down": true, "left right": true, "?": true, "q": true}

// hint is the last line of the screen.
func (s *Screen) hint() string {
	p := s.place()
	switch {
	case s.typing:
		return "enter keeps the filter  esc removes it"
	case s.help:
		return "any key goes back"
	case s.alone():
		return "arrows move  ? help  q quit"
	case p == nil:
		return "l k n g tables  t d u order  r reverse  / filter  enter open  ? help  q quit"
	case p.what == Limits:
		return "t d u order  r reverse  / keys that begin with  enter open  esc back  q quit"
	}
	return "arrows move  esc back  ? help  q quit"
}
