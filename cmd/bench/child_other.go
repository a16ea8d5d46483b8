//go:build !linux

package bench

import "syscall"

// tied gives a child a process group of its own, so that Ctrl-C reaches this process only, which then ends its children
// in order.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
