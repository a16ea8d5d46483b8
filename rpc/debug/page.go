package debug

import (
	"io"

	"github.com/jeton-dev/jeton/internal/plain"
)

// A page is text on its way to a reader, without what would steer a terminal. After an error the rest is lost.
type page struct {
	w   io.Writer
	err error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		p.err = plain.Fprintf(p.w, format+"\n", args...)
	}
}

// A row is a name and what is to be said about it.
type row struct{ name, text string }

// nameWidth keeps the texts of all rows below one another.
const nameWidth = 12

func (p *page) rows(rows []row) {
	for _, r := range rows {
		p.line("  %-*s %s", nameWidth, r.name, r.text)
	}
}
