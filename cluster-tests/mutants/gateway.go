package mutants

// ofGateway are mutants of the gateway.
func ofGateway() []Mutant {
	return []Mutant{{
		Name: "a whole limit at each gateway",
		Why:  "while the cluster cannot be asked, each of n gateways admits the n-th part of a limit; if each admits the whole, n times as much passes",
		Edits: []Edit{
			{File: "gateway/fallback/part.go", Old: "own.Capacity = max(own.Capacity/int64(n), 1)", New: "n = 1"},
		},
		Caught: []Hunt{
			{Package: "./gateway/fallback", Run: "^TestDivide$", Says: `capacity \d+, refill .* of`},
			{Package: "./gateway/fallback", Run: "^TestGatewaysTogether$", Says: `admitted too much in a window`},
		},
	}}
}
