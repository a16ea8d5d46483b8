package node

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// A toyDoor is a door to nothing.
type toyDoor struct{ ends chan error }

func (toyDoor) Name() string   { return "toy" }
func (toyDoor) Addr() string   { return "nowhere:1" }
func (d toyDoor) Serve() error { return <-d.ends }
func (d toyDoor) Stop(context.Context) error {
	select {
	case d.ends <- nil:
	default: // it has ended
	}
	return errors.New("the toy is in use")
}

// One more way in is one value in the list of a node's doors: it is in the log and, when it fails, in what /readyz says.
func TestAToyDoor(t *testing.T) {
	var log strings.Builder
	n, err := Open(Config{Data: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	toy := toyDoor{make(chan error, 1)}
	n.doors.Start(append(n.doorList(), toy)...)
	if err := n.Ready(); err != nil {
		t.Error(err)
	}
	toy.ends <- errors.New("it is broken")
	<-n.Failed()
	if err := n.Ready(); err == nil || err.Error() != "toy on nowhere:1: it is broken" {
		t.Errorf("ready: %v", err)
	}
	if err := n.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `server=toy error="the toy is in use"`) {
		t.Errorf("the log says %s", log.String())
	}
}
