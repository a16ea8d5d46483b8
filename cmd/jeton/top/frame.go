package top

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Frame draws the screen: as many lines as it is high, none wider than it is. Beside text and line feeds it has nothing but colors
// and other attributes of characters.
func (s *Screen) Frame() string {
	lines := s.frame()
	drawn := make([]string, len(lines))
	for i, l := range lines {
		drawn[i] = l.look.in(cut(l.text, s.width))
	}
	return strings.Join(drawn, "\n")
}

// leastHeight is the height from which on there is a last line with hints.
const leastHeight = 12

// frame are the lines of the screen. What does not fit is left out from below.
func (s *Screen) frame() []line {
	if s.width <= 0 || s.height <= 0 {
		return nil
	}
	lines := s.head()
	room := s.height - len(lines)
	if s.height >= leastHeight {
		lines, room = append(lines, line{}), room-2
	}
	body := s.body(room)
	lines = append(lines, body...)
	if s.height < leastHeight {
		return lines[:min(len(lines), s.height)]
	}
	lines = lines[:min(len(lines), s.height-1)]
	for len(lines) < s.height-1 {
		lines = append(lines, line{})
	}
	return append(lines, line{s.hint(), quiet})
}

// body is what stands below the head, in so many lines.
func (s *Screen) body(room int) []line {
	if l := s.list(); l != nil {
		return l.lines(s.width, room)
	}
	return s.scrolled(s.page(), room)
}

// scrolled is the part of a text that is seen.
func (s *Screen) scrolled(text []line, room int) []line {
	c := &cursor{}
	if p := s.place(); p != nil && !s.help {
		c = &p.cursor
	}
	c.from = max(min(c.from, len(text)-room), 0)
	text = append([]line(nil), text[c.from:]...)
	widest := 0
	for _, l := range text {
		widest = max(widest, ansi.StringWidth(l.text))
	}
	c.side = max(min(c.side, widest-s.width), 0)
	for i := range text {
		if c.side > 0 {
			text[i].text = ansi.TruncateLeft(text[i].text, c.side, "")
		}
	}
	return text[:min(len(text), max(room, 0))]
}
