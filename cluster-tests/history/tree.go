package history

import "slices"

// A tree finds the worst window that ends at a given time in O(log n). With n tokens refilled every p nanoseconds, a
// window [s, e] holds too much if
//
//	p·Σcost − n·(e − s) > p·C
//
// so for each possible s, the start of a call, it keeps p·Σcost + n·s, can add to all starts up to one, and tells the
// largest. Times count from the first start.
type tree struct {
	starts []int64 // sorted, each once
	base   int64
	seen   []bool // starts at which a window may begin
	most   []wide
	plus   []wide // to be added to everything below a node
}

// unseen is added to the value of a start at which no window begins yet.
var unseen = wide{hi: -1 << 61}

func newTree(t *terms, calls []*Call) *tree {
	w := &tree{}
	for _, c := range calls {
		w.starts = append(w.starts, c.Start)
	}
	slices.Sort(w.starts)
	w.starts = slices.Compact(w.starts)
	w.base = w.starts[0]
	w.seen = make([]bool, len(w.starts))
	w.most, w.plus = make([]wide, 4*len(w.starts)), make([]wide, 4*len(w.starts))
	w.fill(t.n, 1, 0, len(w.starts))
	return w
}

func (w *tree) fill(n int64, node, lo, hi int) {
	if hi-lo == 1 {
		w.most[node] = product(w.starts[lo]-w.base, n).plus(unseen)
		return
	}
	mid := (lo + hi) / 2
	w.fill(n, 2*node, lo, mid)
	w.fill(n, 2*node+1, mid, hi)
	w.most[node] = larger(w.most[2*node], w.most[2*node+1])
}

// begin lets windows begin at a start.
func (w *tree) begin(start int64) {
	if i, _ := slices.BinarySearch(w.starts, start); !w.seen[i] {
		w.seen[i] = true
		w.addRange(1, 0, len(w.starts), i, i+1, wide{}.minus(unseen))
	}
}

// add adds x to every window that begins no later than at latest.
func (w *tree) add(latest int64, x wide) {
	n, found := slices.BinarySearch(w.starts, latest)
	if found {
		n++
	}
	w.addRange(1, 0, len(w.starts), 0, n, x)
}

// allow takes more off every start from a time on, as far as f says that it is more than 0. f must not grow.
func (w *tree) allow(from int64, f func(start int64) wide) {
	i, _ := slices.BinarySearch(w.starts, from)
	for ; i < len(w.starts); i++ {
		more := f(w.starts[i])
		if !more.positive() {
			return
		}
		w.addRange(1, 0, len(w.starts), i, i+1, wide{}.minus(more))
	}
}

// addRange adds x to the starts begin to end, end excluded; the node stands for those from lo to hi.
func (w *tree) addRange(node, lo, hi, begin, end int, x wide) {
	if end <= lo || hi <= begin {
		return
	}
	if begin <= lo && hi <= end {
		w.most[node] = w.most[node].plus(x)
		w.plus[node] = w.plus[node].plus(x)
		return
	}
	mid := (lo + hi) / 2
	w.addRange(2*node, lo, mid, begin, end, x)
	w.addRange(2*node+1, mid, hi, begin, end, x)
	w.most[node] = larger(w.most[2*node], w.most[2*node+1]).plus(w.plus[node])
}

// worst is the start with the largest value, and that value.
func (w *tree) worst() (start int64, value wide) {
	node, lo, hi := 1, 0, len(w.starts)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if w.most[2*node].less(w.most[2*node+1]) {
			node, lo = 2*node+1, mid
		} else {
			node, hi = 2*node, mid
		}
	}
	return w.starts[lo], w.most[1]
}
