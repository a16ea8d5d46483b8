package tangle

func low() int { return deep() }
