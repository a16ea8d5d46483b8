package owner

// maxSpare is how many pieces of memory of a kind are kept to be used again: as many as keys that wake at once, in the
// batches in which checks arrive, need until their reservations are answered.
const maxSpare = 1024

// spare is memory that owners have given back, and that the next ones who need it use again.
type spare struct {
	crowds []*crowd
	talks  []*talk
}

func (s *spare) crowd() *crowd {
	if c, ok := pop(&s.crowds); ok {
		return c
	}
	return &crowd{}
}

// keepCrowd takes a crowd in which nobody is left, with the room of a short queue.
func (s *spare) keepCrowd(c *crowd) {
	if len(s.crowds) < maxSpare {
		*c = crowd{queue: c.emptied()}
		s.crowds = append(s.crowds, c)
	}
}

func (s *spare) talk() *talk {
	if t, ok := pop(&s.talks); ok {
		return t
	}
	return &talk{}
}

// keepTalk takes a talk that is over.
func (s *spare) keepTalk(t *talk) {
	if len(s.talks) < maxSpare {
		*t = talk{}
		s.talks = append(s.talks, t)
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
