package top

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/jeton-dev/jeton/internal/plain"
)

// shown makes text from outside safe to show in a cell of a line: nothing in it steers a terminal ([plain.Text]), and all terminals agree
// on how wide it is. Text on which they may not agree, such as flags, or many marks on one letter, is quoted in ASCII.
func shown(s string) string {
	safe := plain.Text(s)
	width := ansi.StringWidth(safe)
	if width == ansi.StringWidthWc(safe) && utf8.RuneCountInString(safe) <= 2*width {
		return safe
	}
	return strconv.QuoteToASCII(s)
}

// cut makes text that is safe no wider than width.
func cut(s string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(s, width, "…")
}

// pad makes text that is safe exactly as wide as width: cut, or filled up with spaces.
func pad(s string, width int, right bool) string {
	s = cut(s, width)
	space := strings.Repeat(" ", max(width-ansi.StringWidth(s), 0))
	if right {
		return space + s
	}
	return s + space
}

// wrapped breaks text into lines of a width, between words where there are some.
func wrapped(s string, width int) []string {
	if width <= 0 {
		return nil
	}
	return strings.Split(ansi.Wrap(s, width, ""), "\n")
}

// A look is how a line is drawn, beside what it says: nothing is told by a look alone.
type look int

const (
	normal look = iota
	strong
	quiet
	chosen
	good
	warning
	critical
)

// in draws a line with a look. The line is safe, and as wide as it is to be.
func (l look) in(s string) string {
	style := ansi.NewStyle()
	switch l {
	case strong:
		style = style.Bold()
	case quiet:
		style = style.Faint()
	case chosen:
		style = style.Reverse(true)
	case good:
		style = style.ForegroundColor(ansi.Green)
	case warning:
		style = style.ForegroundColor(ansi.Yellow)
	case critical:
		style = style.Bold().ForegroundColor(ansi.Red)
	case normal:
		return s
	}
	return style.Styled(s)
}

// alarm is the look of a row that has something wrong, or something very wrong.
func alarm(wrong, very bool) look {
	switch {
	case very:
		return critical
	case wrong:
		return warning
	}
	return normal
}
