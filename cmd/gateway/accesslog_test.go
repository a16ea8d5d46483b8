package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The access log has what upstreams answered, and goes on in a new file after a SIGHUP.
func TestAccessLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	document := strings.Replace(aDocument(anUpstream(t).URL), "deny:", "access_log: {what: all, path: nowhere}\ndeny:", 1)
	r := open(t, Config{AccessLog: path}, document) // the option counts
	hangup, ended := make(chan os.Signal, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- r.Run(ctx, hangup) }()
	for range 3 {
		r.get(t, r.ProxyAddr(), "/items")
	}
	r.get(t, r.ProxyAddr(), "/nothing")
	r.until(t, "four lines are written", func() bool { return len(read(t, path)) == 4 })
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	hangup <- syscall.SIGHUP
	r.until(t, "the file is opened anew", func() bool { _, err := os.Stat(path); return err == nil })
	r.get(t, r.ProxyAddr(), "/open")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string][]int{
		path + ".1": {http.StatusOK, http.StatusOK, http.StatusTooManyRequests, http.StatusNotFound},
		path:        {http.StatusOK},
	} {
		lines := read(t, at)
		if len(lines) != len(want) {
			t.Fatalf("%s has %d lines, want %d", at, len(lines), len(want))
		}
		for i, l := range lines {
			if l.Status != want[i] || (l.Upstream > 0) != (want[i] == http.StatusOK) || l.Duration < l.Upstream {
				t.Errorf("line %d of %s: %+v", i, filepath.Base(at), l)
			}
		}
	}
}

// A line is one of the access log.
type line struct {
	Status   int
	Upstream float64 `json:"upstream_ms"`
	Duration float64 `json:"duration_ms"`
}

// read reads the lines of an access log; none if there is no file.
func read(t *testing.T, path string) (lines []line) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for text := range bytes.Lines(text) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		lines = append(lines, l)
	}
	return lines
}
