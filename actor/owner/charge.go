package owner

import "github.com/jeton-dev/jeton/actor/limit"

// spentFrom is since when what c charges was spent: never later than c, and no longer ago than a report can be late. So line that time has passed pays for it, as far as nobody
// has spent that.
func spentFrom(c *Check, rule *limit.Rule) int64 {
	if c.Report == nil {
		return c.At
	}
	return c.At - int64(min(max(c.Report.Age, 0), rule.Reports()+limit.OldestReport))
}

// reported is the answer to a report, for a bucket whose line is spent up to there. It notes the report, which takes effect now.
func (b *bucket) reported(c *Check, spent limit.Pos) *limit.Reported {
	share, asked := b.withReporters().note(c.Report, c.At, b.rule)
	return &limit.Reported{Spent: spent.Ceil(), Now: c.At, Share: share, Scarce: asked > 1}
}
