//go:build !race

package simulation

const (
	defaultHours  = 200
	largeVariants = true
)
