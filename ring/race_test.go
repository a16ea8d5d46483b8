//go:build race

package ring_test

import "flag"

// The race detector makes Assign ten times slower, and has little to find in code that knows no goroutines: most of what is
// drawn is left to the run without it.
func init() {
	if err := flag.Set("rapid.checks", "10"); err != nil {
		panic(err)
	}
}
