package main

const (
	second = int64(1e9)
	epoch  = 1_800_000_000 * second // the true time at which every world begins
	// step is the time whose checks are one batch, at an edge that a key comes to more often than once in a step.
	step = int64(20e6)
)

// A timeline is virtual time: what will happen, and the true time now.
type timeline struct {
	queue
	now int64
}

// run lets happen what is to happen before a time.
func (t *timeline) run(end int64) {
	for len(t.heap) > 0 && t.heap[0].at < end {
		e := t.pop()
		t.now = e.at
		e.what()
	}
}

// An event is something that will happen: at a time, and among those of one time in the order in which they were put in.
type event struct {
	at   int64
	seq  uint64
	what func()
}

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.seq < other.seq
}

// A queue is a heap of events.
type queue struct {
	heap []event
	seq  uint64
}

func (q *queue) push(at int64, what func()) {
	q.seq++
	q.heap = append(q.heap, event{at, q.seq, what})
	h := q.heap
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
	h := q.heap
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
	q.heap = h
	return first
}
