//go:build race

package limit_test

// The race detector makes it ten times slower, and there is nothing to race.
const millionHolds = 40_000
