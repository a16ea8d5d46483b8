package owner

// maxReusable is how many pieces of memory of a kind are kept to be used again: as many as keys that wake at once, in the
// batches in which checks arrive, need until their reservations are answered.
const maxReusable = 1024

// reusable is memory that owners have given back, and that the next ones use again.
type reusable struct {
	overflows    []*overflow
	replications []*replication
}

func (s *reusable) overflow() *overflow {
	if c, ok := pop(&s.overflows); ok {
		return c
	}
	return &overflow{}
}

// keepOverflow takes an overflow in which nothing is left, with the room of a short queue.
func (s *reusable) keepOverflow(c *overflow) {
	if len(s.overflows) < maxReusable {
		*c = overflow{queue: c.emptied()}
		s.overflows = append(s.overflows, c)
	}
}

func (s *reusable) replication() *replication {
	if t, ok := pop(&s.replications); ok {
		return t
	}
	return &replication{}
}

// keepReplication takes a replication that is over.
func (s *reusable) keepReplication(t *replication) {
	if len(s.replications) < maxReusable {
		*t = replication{}
		s.replications = append(s.replications, t)
	}
}

func pop[T any](list *[]*T) (last *T, ok bool) {
	n := len(*list) - 1
	if n < 0 {
		return nil, false
	}
	last = (*list)[n]
	(*list)[n] = nil
	*list = (*list)[:n]
	return last, true
}
