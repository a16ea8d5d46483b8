//go:build race

package owner_test

// As for largeSettings: the race detector makes the walks ten times slower, and has nothing to find in them.
const withRaceDetector = true
