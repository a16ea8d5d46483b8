package conformance

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Noon is the time at a [NewNoonModel].
func Noon() time.Time { return time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC) }

// NewDocument is a limits document for tests of what stands in front of a Limiter: demo is full with 10 tokens and refills 10 in an
// hour; the length of a token of odd is no whole number of nanoseconds.
func NewDocument(tb testing.TB) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(`
limits:
  demo: {capacity: 10, refill: 10/1h, on_unavailable: deny}
  odd:  {capacity: 7, refill: 3/7s}
`))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// NewNoonModel is a Model of [NewDocument] for which it is always [Noon].
func NewNoonModel(tb testing.TB) *Model {
	tb.Helper()
	return NewModel(NewDocument(tb), Noon().UnixNano)
}
