//go:build !race

package owner_test

const withRaceDetector = false
