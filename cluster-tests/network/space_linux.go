package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"time"
)

// A space is a network namespace. A thread that is in it keeps it alive, and makes the sockets that are to be in it: a socket
// stays in the namespace where it was made, whatever goroutine uses it.
type space struct {
	thread int // id of the thread
	work   chan func()
	ended  chan struct{}
}

// newSpace makes an empty namespace.
func newSpace() (*space, error) {
	s := &space{work: make(chan func()), ended: make(chan struct{})}
	ready := make(chan error)
	go s.run(ready)
	return s, <-ready
}

// run is the goroutine of the thread, until close.
func (s *space) run(ready chan<- error) {
	defer close(s.ended)
	runtime.LockOSThread() // never unlocked: no other goroutine may get a thread of this namespace, and the thread ends with this goroutine
	s.thread = syscall.Gettid()
	err := syscall.Unshare(syscall.CLONE_NEWNET)
	ready <- err
	if err != nil {
		return
	}
	for f := range s.work {
		f()
	}
}

func (s *space) close() {
	close(s.work)
	<-s.ended
}

// errClosed is what comes of a Dial after the end of the test.
var errClosed = errors.New("the network is gone")

// socket makes a TCP socket in the namespace.
func (s *space) socket() (fd int, err error) {
	made := make(chan struct{})
	select {
	case s.work <- func() {
		defer close(made)
		fd, err = syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	}:
		<-made
		return fd, err
	case <-s.ended:
		return 0, errClosed
	}
}

// dial connects to an address of IPv4. The package net would make the socket in the thread that calls it, and keep that one
// until the connection stands, so that the others had to wait.
func (s *space) dial(ctx context.Context, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	if !to.Addr().Is4() {
		return nil, fmt.Errorf("%s is not an address of IPv4", address)
	}
	fd, err := s.socket()
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), address)
	defer file.Close() //nolint:errcheck // the connection has a copy
	if err := connect(ctx, file, to); err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(to), Err: err}
	}
	return net.FileConn(file)
}

// connect connects a socket that does not block, and waits.
func connect(ctx context.Context, file *os.File, to netip.AddrPort) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { file.SetWriteDeadline(time.Unix(1, 0)) }) //nolint:errcheck // connect sees that it is closed
	defer stop()
	begun := false
	var result error
	err = raw.Write(func(fd uintptr) (done bool) {
		if !begun {
			begun = true
			result = syscall.Connect(int(fd), &syscall.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
			return !errors.Is(result, syscall.EINPROGRESS)
		}
		code, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_ERROR)
		switch result = err; {
		case err != nil:
		case code != 0:
			result = syscall.Errno(code)
		default:
			if _, err := syscall.Getpeername(int(fd)); err != nil {
				return false // woken too early
			}
		}
		return true
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	}
	return result
}
