//go:build !linux

package network

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"time"
)

var errLinux = errors.New("this is not Linux")

func start(*exec.Cmd) error { return errLinux }

func furnish() error { return errLinux }

type space struct{ thread int }

func newSpace() (*space, error) { return nil, errLinux }

func (*space) close() {}

func (*space) dial(context.Context, string) (net.Conn, error) { return nil, errLinux }

type late struct{}

// CanBeLate says why packets cannot be made late here.
func CanBeLate() error { return errLinux }

// Late needs Linux.
func (*Lab) Late([]string, float64, time.Duration) error { return errLinux }

// OnTime has nothing to end.
func (*Lab) OnTime() error { return nil }
