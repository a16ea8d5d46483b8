package tangle

type thing struct{}

func (*thing) step() int { return low() + deep() }

func helper() int { return 1 }
