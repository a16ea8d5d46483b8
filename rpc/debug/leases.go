package debug

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/jeton-dev/jeton/actor/limit"
)

// shownLeases is how many leases have a line of their own.
const shownLeases = 10

// leaseRows say who holds tokens of the bucket, how many at most, and until when.
func leaseRows(in limit.Inspection) (rows []row) {
	if in.Rule.Consistency != limit.Leased && !in.Rule.LeasedWhenHot() && len(in.Leases) == 0 {
		return nil
	}
	total := int64(0)
	for i := range in.Leases {
		l := &in.Leases[i]
		tokens := in.LeasedTokens(l)
		total += tokens
		if i < shownLeases {
			name := strconv.QuoteToGraphic(cmp.Or(l.Edge, "without a name"))
			rows = append(rows, row{"", fmt.Sprintf("%s: at most %d, until %s", name, tokens, position(l.Until, in.Now))})
		}
	}
	if more := len(in.Leases) - shownLeases; more > 0 {
		rows = append(rows, row{"", fmt.Sprintf("and %d more", more)})
	}
	text := "nothing: no gateway and no client holds tokens"
	if total > 0 {
		text = fmt.Sprintf("at most %d tokens, at gateways and clients, which spend them by themselves", total)
	}
	return append([]row{{"leased", text}}, rows...)
}
