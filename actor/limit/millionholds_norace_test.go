//go:build !race

package limit_test

const millionHolds = 1_000_000
