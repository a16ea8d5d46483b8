//go:build race

package owner

// The race detector makes the model ten times slower, and has little to find in code that knows no goroutines: the large
// settings are left to the run without it.
const largeSettings = false
