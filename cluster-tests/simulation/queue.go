package simulation

// An event is something that will happen: at a time, and among those of one time in the order in which they were put in.
type event struct {
	at   int64
	seq  uint64
	slot int // of the node at which it happens; −1 for none
	life int // of the process to which it happens, and to no other; 0 for whichever runs there
	what func()
}

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.seq < other.seq
}

// A queue is a heap of events.
type queue []event

func (q *queue) push(e event) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(&h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

// pop takes out the first event. There must be one.
func (q *queue) pop() event {
	h := *q
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], event{}
	h = h[:last]
	for i := 0; ; {
		low := 2*i + 1
		if low >= last {
			break
		}
		if right := low + 1; right < last && h[right].before(&h[low]) {
			low = right
		}
		if !h[low].before(&h[i]) {
			break
		}
		h[i], h[low] = h[low], h[i]
		i = low
	}
	*q = h
	return first
}
