//go:build race

package storage

// The race detector makes the crash and failure tests ten times slower, and finds what it finds at any operation: under it
// they strike one operation in stride, from a random one on. The run without it strikes every single one. It is odd, as
// faults come in pairs.
const stride = 7
