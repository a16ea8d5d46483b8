package activity

// problems are what is wrong, the worst first.
func problems(*View, *Look) []Problem { return []Problem{} }
