package tangle

const limit = 3

func deep() int { return helper() }

func (*thing) again() int { return limit }
