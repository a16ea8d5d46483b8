package rpc

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

const documentText = `
limits:
  demo: {capacity: 10, refill: 10/1h, on_unavailable: deny}
  odd:  {capacity: 7, refill: 3/7s}
`

func document(tb testing.TB) *limit.Document {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(documentText))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// noon is what the model's clock says in these tests.
var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// newModel is a Limiter that has the limits of these tests, at noon.
func newModel(tb testing.TB) *conformance.Model {
	tb.Helper()
	return conformance.NewModel(document(tb), noon.UnixNano)
}
