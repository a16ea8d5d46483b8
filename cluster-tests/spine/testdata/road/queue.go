package road

type queue struct {
	send func(i int) bool
	pass func(d decider, i int) bool
}

func pass(d decider, i int) bool { return d.decide(i) }
