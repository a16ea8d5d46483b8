//go:build race

package simulation

// The race detector makes the simulation ten times slower, and has little to find in code that knows no goroutines.
const (
	newHours      = 1
	fixedHours    = 1
	largeVariants = false
)
