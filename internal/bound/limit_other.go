//go:build !unix

package bound

// Limit is how many descriptors the process may have open.
func Limit() uint64 { return 1 << 16 }
