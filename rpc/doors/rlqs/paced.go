package rlqs

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/bound"
)

// sayEvery is how often the log has a line of one kind.
const sayEvery = 10 * time.Second

// paced is a log in which lines of one kind come seldom, each with how many were left out: what strangers cause does not fill it.
type paced struct {
	to     *slog.Logger
	limits func() *limit.Document
	lines  *bound.Lines
}

func newPaced(to *slog.Logger, limits func() *limit.Document) *paced {
	return &paced{to, limits, bound.LinesEvery(sayEvery)}
}

// refused says why nothing is assigned to a bucket, which Envoy is told to deny unless there is no room for it: in a line for each limit that is stored, and one for all others. Detail may be nil.
func (p *paced) refused(why refusal, at target, detail error) {
	kind := string(why)
	if why != refusedID && why != refusedUnknown {
		kind += " " + at.limit
	}
	if before, may := p.lines.May(kind); may {
		line := []any{"limit", bound.Label(at.limit), "key", bound.Label(at.key), "because", refusals[why], "more_since_last", before}
		if doc := p.limits(); why == refusedUnknown && doc != nil {
			if near := doc.Near(at.limit); near != "" {
				detail = fmt.Errorf("perhaps %s is meant", limit.Quote(near))
			}
		}
		if detail != nil {
			line = append(line, "detail", detail)
		}
		p.to.Warn("nothing is assigned to a bucket of Envoy", line...)
	}
}

// failed says why nothing can be assigned.
func (p *paced) failed(at target, err error) {
	if before, may := p.lines.May("ask " + at.limit); may {
		p.to.Warn("nothing can be assigned to Envoy, which goes by its own configuration when what it has is over", "limit", at.limit, "error", err, "more_since_last", before)
	}
}
