package conformance_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	conformance.Run(t, func(_ *testing.T, doc *limit.Document, now func() int64) limit.Limiter {
		return conformance.NewModel(doc, now)
	})
}
