package nemesis

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// holdCounts say what came of holds. What is held is counted as callers know it: until they have settled, or their time is over.
type holdCounts struct {
	mu   sync.Mutex
	what map[string]int64
	open map[string]int64 // tokens, by key
	most int64            // that were held at once, of one key
}

func newHoldCounts() *holdCounts {
	return &holdCounts{what: map[string]int64{}, open: map[string]int64{}}
}

func (h *holdCounts) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.what[what]++
}

func (h *holdCounts) took(hold *limit.Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.what["taken"]++
	h.open[hold.Key] += hold.Granted
	h.most = max(h.most, h.open[hold.Key])
}

func (h *holdCounts) over(hold *limit.Hold) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[hold.Key] -= hold.Granted
}

// String is a line about the holds.
func (h *holdCounts) String() string {
	h.mu.Lock()
	what, most := maps.Clone(h.what), h.most
	h.mu.Unlock()
	var all []string
	for _, name := range []string{
		"taken", history.Settled, history.Open, history.Expired, history.Lost, history.Unknown, "never settled", "given up", "settlements failed",
	} {
		all = append(all, fmt.Sprintf("%d %s", what[name], name))
	}
	return fmt.Sprintf("%s; at most %d tokens held at once of one key", strings.Join(all, ", "), most)
}
