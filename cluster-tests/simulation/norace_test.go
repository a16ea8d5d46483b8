//go:build !race

package simulation

const (
	newHours      = 20
	fixedHours    = 80
	largeVariants = true
)
