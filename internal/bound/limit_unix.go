//go:build unix

package bound

import "syscall"

// Limit is how many descriptors the process may have open.
func Limit() uint64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 1024 // what is usual
	}
	return uint64(r.Cur) //nolint:unconvert // it is signed on some systems
}
