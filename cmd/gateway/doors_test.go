package gateway

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
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
	return errors.New("somebody plays with it")
}

// One more way in is one value in the list of a gateway's doors: it is in the log and, when it fails, in what /readyz says.
func TestAToyDoor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	const document = `
cluster: {servers: ["127.0.0.1:1"]}
admin: {listen: "127.0.0.1:0"}
forward_auth: {listen: "127.0.0.1:0"}
`
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	e, err := Open(Config{Path: path, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	toy := toyDoor{make(chan error, 1)}
	e.doors.Start(toy)
	toy.ends <- errors.New("it is broken")
	<-e.Failed()
	if err := e.Ready(); err == nil || err.Error() != "toy on nowhere:1: it is broken" {
		t.Errorf("ready: %v", err)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), `server=toy error="somebody plays with it"`) {
		t.Errorf("the log says %s", log.String())
	}
}
