package gateway_test

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"syscall"
	"testing"
)

// A dead is an address at which nobody listens, until somebody does. A socket has it that is bound and does not listen, so that
// nobody else takes it meanwhile, nor in the moment in which somebody begins to listen.
type dead struct {
	*testing.T
	address string
	held    *os.File
}

func newDead(t *testing.T) *dead {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(socket)
	held := os.NewFile(uintptr(socket), "an address that nobody listens at")
	t.Cleanup(func() { _ = held.Close() })
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(socket)
	if err != nil {
		t.Fatal(err)
	}
	return &dead{t, fmt.Sprintf("127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port), held}
}

func (d *dead) url() string { return "http://" + d.address }

// rise makes the address live. A connection to it is told to met, if there is room.
func (d *dead) rise(h http.HandlerFunc, met chan<- struct{}) {
	d.Helper()
	if err := syscall.Listen(int(d.held.Fd()), syscall.SOMAXCONN); err != nil {
		d.Fatal(err)
	}
	l, err := net.FileListener(d.held)
	if err != nil {
		d.Fatal(err)
	}
	_ = d.held.Close()                                       // the listener has a descriptor of its own
	s := &httptest.Server{Listener: l, Config: &http.Server{ //nolint:gosec // of a test
		Handler: h, ErrorLog: log.New(io.Discard, "", 0),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				select {
				case met <- struct{}{}:
				default:
				}
			}
		},
	}}
	s.Start()
	d.Cleanup(s.Close)
}
