package history

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
)

// windows finds the worst window that ends at a given time in O(log n). With n tokens refilled every p nanoseconds, a
// window [s, e] holds too much if
//
//	p·Σcost − n·(e − s) > p·C
//
// so for each possible s, the start of a call, it keeps p·Σcost + n·s in a tree that can add to a prefix and tell the
// maximum. Times count from the first start.
type windows struct {
	starts   []int64 // sorted, each once
	base     int64
	refill   int64  // n
	perToken int64  // p
	capacity int64  // p·C
	seen     []bool // starts of calls that have been added
	most     []int64
	plus     []int64 // to be added to everything below a node
}

// unseen is added to the value of a start while no call from there has been added: no window begins there yet.
const unseen = -1 << 61

func newWindows(rule *limit.Rule, calls []Call) (*windows, error) {
	w := &windows{}
	var total, last int64
	for _, c := range calls {
		w.starts = append(w.starts, c.Start)
		total += c.Cost
		last = max(last, c.End)
	}
	slices.Sort(w.starts)
	w.starts = slices.Compact(w.starts)
	w.base = w.starts[0]
	g := new(big.Int).GCD(nil, nil, big.NewInt(rule.Refill.Tokens), big.NewInt(int64(rule.Refill.Per))).Int64()
	w.refill, w.perToken = rule.Refill.Tokens/g, int64(rule.Refill.Per)/g
	for _, product := range [][2]int64{{w.perToken, total + rule.Capacity}, {w.refill, last - w.base + 1e9}} {
		if p := new(big.Int).Mul(big.NewInt(product[0]), big.NewInt(product[1])); p.BitLen() > 59 {
			return nil, fmt.Errorf("%d × %d does not fit in 59 bits: check a shorter history", product[0], product[1])
		}
	}
	w.capacity = w.perToken * rule.Capacity
	w.seen = make([]bool, len(w.starts))
	w.most, w.plus = make([]int64, 4*len(w.starts)), make([]int64, 4*len(w.starts))
	w.fill(1, 0, len(w.starts))
	return w, nil
}

func (w *windows) fill(node, lo, hi int) {
	if hi-lo == 1 {
		w.most[node] = w.refill*(w.starts[lo]-w.base) + unseen
		return
	}
	mid := (lo + hi) / 2
	w.fill(2*node, lo, mid)
	w.fill(2*node+1, mid, hi)
	w.most[node] = max(w.most[2*node], w.most[2*node+1])
}

// add counts a call into every window that begins no later than the call.
func (w *windows) add(c Call) {
	i, _ := slices.BinarySearch(w.starts, c.Start)
	if !w.seen[i] {
		w.seen[i] = true
		w.addRange(1, 0, len(w.starts), i, i+1, -unseen)
	}
	w.addRange(1, 0, len(w.starts), 0, i+1, w.perToken*c.Cost)
}

// addRange adds v to the starts begin to end, end excluded; the node stands for those from lo to hi.
func (w *windows) addRange(node, lo, hi, begin, end int, v int64) {
	if end <= lo || hi <= begin {
		return
	}
	if begin <= lo && hi <= end {
		w.most[node] += v
		w.plus[node] += v
		return
	}
	mid := (lo + hi) / 2
	w.addRange(2*node, lo, mid, begin, end, v)
	w.addRange(2*node+1, mid, hi, begin, end, v)
	w.most[node] = max(w.most[2*node], w.most[2*node+1]) + w.plus[node]
}

// worst is the start of the worst window that ends at end, and by how much it exceeds the limit, in parts of a token of
// which perToken make one. Not above 0: no window does.
func (w *windows) worst(end, epsilon int64) (start, over int64) {
	over = w.most[1] - w.refill*(end-w.base+2*epsilon) - w.capacity
	node, lo, hi := 1, 0, len(w.starts)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if w.most[2*node] >= w.most[2*node+1] {
			node, hi = 2*node, mid
		} else {
			node, lo = 2*node+1, mid
		}
	}
	return w.starts[lo], over
}
