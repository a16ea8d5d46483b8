package owner

import (
	"math"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A segment is the piece (from, to] of the line; empty if from = to.
type segment struct{ from, to int64 }

// A stretch is a length of line in units of 2²⁰ ns, rounded up; the longest, of 52 days, stands for all that are longer.
type stretch uint32

const stretchUnit = int64(1 << 20)

func stretchOf(ns int64) stretch { return stretch(min(max(ns, 0)/stretchUnit+1, math.MaxUint32)) }

// over is by how much what was reserved so far ahead, under a limit that reached up to longer, lies too far ahead for the limit of a
// rule; math.MaxInt64 if that cannot be told.
func (far stretch) over(rule *limit.Rule, longer int64, cfg *Config) int64 {
	within := stretchOf(rule.Ahead() + cfg.Delta)
	switch {
	case rule.Ahead() >= longer:
		return 0
	case far == math.MaxUint32:
		return math.MaxInt64
	}
	return max(0, int64(far)-int64(within)) * stretchUnit
}
