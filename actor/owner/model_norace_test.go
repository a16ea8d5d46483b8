//go:build !race

package owner

const largeSettings = true
