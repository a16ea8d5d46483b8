package bench

import "syscall"

// tied makes a child end with this process, however that ends. It has a process group of its own, so that Ctrl-C reaches
// this process only, which then ends its children in order.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
