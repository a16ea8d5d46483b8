package actor

import (
	"container/heap"
)

// An alarm is when something is due for an actor.
type alarm struct {
	at    int64
	actor *actor
}

// alarms is a heap of the actors for which something is due before their next visit (see visits), by the time that it is due. Each actor
// is in it at most once.
type alarms []alarm

// setAlarm sets an alarm for what is due for an actor before its next visit.
func (sh *shard) setAlarm(a *actor) {
	if due := a.owner.Due(); due < a.visit+visitSlack {
		sh.alarms.set(a, due)
	}
}

// Len, Less, Swap, Push and Pop are those of a [heap.Interface].
func (h alarms) Len() int { return len(h) }

func (h alarms) Less(i, j int) bool { return h[i].at < h[j].at }

// Swap keeps every actor's place.
func (h alarms) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].actor.alarm, h[j].actor.alarm = int32(i+1), int32(j+1)
}

// Push is for the heap package only.
func (h *alarms) Push(x any) {
	a := x.(alarm) //nolint:forcetypeassert // set pushes nothing else
	*h = append(*h, a)
	a.actor.alarm = int32(len(*h))
}

// Pop is for the heap package only.
func (h *alarms) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = alarm{}
	*h = (*h)[:last]
	if cap(*h) > fewActors && last < cap(*h)/4 { // of a flood
		*h = append(make(alarms, 0, 2*last), *h...)
	}
	a.actor.alarm = 0
	return a
}

// next is the earliest alarm, or nil.
func (h alarms) next() *alarm {
	if len(h) == 0 {
		return nil
	}
	return &h[0]
}

// set sees to it that a's alarm is no later than that.
func (h *alarms) set(a *actor, at int64) {
	switch i := int(a.alarm) - 1; {
	case i < 0:
		heap.Push(h, alarm{at, a})
	case at < (*h)[i].at:
		(*h)[i].at = at
		heap.Fix(h, i)
	}
}

func (h *alarms) remove(a *actor) {
	if a.alarm > 0 {
		heap.Remove(h, int(a.alarm)-1)
	}
}
