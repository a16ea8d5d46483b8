// Package tangle has files that refer to one another in a circle, for a test.
package tangle

// Run uses both others.
func Run() int { return new(thing).step() + limit }
