package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/node"
)

// A SIGHUP that came before the node serves is taken once it does.
func TestHangupFromBefore(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, []byte("limits: {a: {capacity: 1, refill: 1/s}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	n, err := node.Open(node.Config{Name: "one", Data: t.TempDir(), Limits: file, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	hangup, ended := make(chan os.Signal, 1), make(chan error, 1)
	hangup <- syscall.SIGHUP
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { ended <- wait(ctx, hangup, n, log) }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for len(hangup) > 0 {
		<-tick.C
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "the limits file equals the limits in force") {
		t.Errorf("the limits were not reloaded:\n%s", &said)
	}
}
