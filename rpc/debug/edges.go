package debug

import (
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/plain"
)

// edgeRows say what gateways and clients decide by themselves, of which this bucket tells only a part.
func edgeRows(r *limit.Rule) []row {
	switch r.Consistency {
	case limit.Eventual:
		return []row{{"edges", fmt.Sprintf("gateways and clients decide by what they have heard, and report every %s: what they have admitted since is missing here, and more may be admitted for a moment", plain.Duration(r.Reports()))}}
	case limit.OfEdge:
		return []row{{"edges", "each gateway and each client has a bucket of its own, which no node knows and no reset from here reaches: here counts only what owners were asked"}}
	case limit.Leased, limit.Strong: // leases have rows of their own
	}
	return nil
}
