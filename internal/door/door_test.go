package door_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/internal/door"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A toy is a door that notes when it stops.
type toy struct {
	name  string
	ends  chan error // what Serve returns
	note  func(string)
	stuck error // what Stop returns
}

func (t *toy) Name() string { return t.name }
func (t *toy) Addr() string { return "nowhere:1" }
func (t *toy) Serve() error { return <-t.ends }

func (t *toy) Stop(context.Context) error {
	t.note(t.name)
	t.ends <- nil
	return t.stuck
}

// Doors stop in the reverse of the order in which they were started, and what is cut off is logged.
func TestDoorsStopInReverse(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	var stopped []string
	note := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		stopped = append(stopped, name)
	}
	doors := door.New(slog.New(slog.NewTextHandler(&log, nil)))
	for _, name := range []string{"first", "second", "third"} {
		doors.Start(&toy{name: name, ends: make(chan error, 2), note: note, stuck: map[string]error{"second": errors.New("one is left")}[name]})
	}
	doors.Stop(t.Context())
	if want := []string{"third", "second", "first"}; !slices.Equal(stopped, want) {
		t.Errorf("stopped %q, want %q", stopped, want)
	}
	if err := doors.Err(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `server=second error="one is left"`) || strings.Contains(log.String(), "server=first") {
		t.Errorf("the log says %s", &log)
	}
}

// A door that ends by itself makes the process fail, with its name and address. The first one counts.
func TestADoorThatEndsIsAFailure(t *testing.T) {
	doors := door.New(slog.New(slog.DiscardHandler))
	ends := make(chan error, 2)
	doors.Start(&toy{name: "redis", ends: ends, note: func(string) {}})
	ends <- errors.New("the cable is out")
	<-doors.Failed()
	doors.Fail(errors.New("another"))
	if err := doors.Err(); err == nil || err.Error() != "redis on nowhere:1: the cable is out" {
		t.Errorf("failed with %v", err)
	}
	doors.Stop(t.Context())
}

// What was opened last is closed first, once, and every error is told, also to who closes again.
func TestClosersCloseInReverse(t *testing.T) {
	var c door.Closers
	var order []int
	for i := range 3 {
		c.Add(func(context.Context) error {
			order = append(order, i)
			return []error{errors.New("disk"), nil, errors.New("network")}[i]
		})
	}
	if err := c.Close(t.Context()); err == nil || err.Error() != "network\ndisk" || !slices.Equal(order, []int{2, 1, 0}) {
		t.Errorf("closed %v with %v", order, err)
	}
	if err := c.Close(t.Context()); err == nil || err.Error() != "network\ndisk" || len(order) != 3 {
		t.Errorf("closed again: %v, %v", order, err)
	}
}

func TestListen(t *testing.T) {
	l, err := door.Listen("listen-http", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nobody uses it
	if _, err := door.Listen("listen-grpc", door.Address(l)); err == nil || !strings.HasPrefix(err.Error(), "listen-grpc: "+door.Address(l)+" is in use") {
		t.Errorf("got %v", err)
	}
	if _, err := door.Listen("proxy.listen", "256.0.0.1:1"); err == nil || !strings.HasPrefix(err.Error(), "proxy.listen: cannot listen on ") {
		t.Errorf("got %v", err)
	}
	if got := door.Address(nil); got != "" {
		t.Errorf("no listener is at %s", got)
	}
}
