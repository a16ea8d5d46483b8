package actor

import "container/heap"

// alarms orders a shard's actors by when they want to be looked at again. Every actor is in it once.
type alarms []*actor

// Len, Less, Swap, Push and Pop are those of a [heap.Interface].
func (h alarms) Len() int           { return len(h) }
func (h alarms) Less(i, j int) bool { return h[i].alarm < h[j].alarm }

// Swap keeps every actor's index.
func (h alarms) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

// Push is for the heap package only.
func (h *alarms) Push(x any) {
	a := x.(*actor) //nolint:forcetypeassert // add pushes nothing else
	a.index = int32(len(*h))
	*h = append(*h, a)
}

// Pop is for the heap package only.
func (h *alarms) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return a
}

func (h *alarms) add(a *actor) { heap.Push(h, a) }

func (h *alarms) remove(a *actor) { heap.Remove(h, int(a.index)) }

// set changes when a is looked at.
func (h *alarms) set(a *actor, at int64) {
	if a.alarm != at {
		a.alarm = at
		heap.Fix(h, int(a.index))
	}
}
