package road

type decider interface{ decide(i int) bool }

func deliver(i int) bool {
	var d decider = owner{}
	q := queue{send: d.decide, pass: pass}
	return q.pass(d, i)
}
