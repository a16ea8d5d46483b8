package node_test

import (
	"bufio"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/node"
)

// A browser gets the console and follows what the node does, until the node stops.
func TestTheConsoleOfANode(t *testing.T) {
	n := open(t, node.Config{
		Data: t.TempDir(), Name: "ann", Logger: slog.New(slog.DiscardHandler), ListenHTTP: "127.0.0.1:0",
		Limits: writeFile(t, "limits.yaml", "limits: {demo: {capacity: 1000, refill: 1/s}}"),
	})
	ask := func(path, accept string) (kind string, body io.Reader) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.HTTPAddr()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		res, err := plainHTTP().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res.Header.Get("Content-Type"), res.Body
	}
	if kind, _ := ask("/", "text/html"); kind != "text/html; charset=utf-8" {
		t.Errorf("a browser gets %s", kind)
	}
	if kind, _ := ask("/", "*/*"); kind != "text/plain; charset=utf-8" {
		t.Errorf("curl gets %s", kind)
	}
	_, events := ask("/console/events", "text/event-stream")
	stream := bufio.NewScanner(events)
	if !stream.Scan() || stream.Text() != "event: view" || !stream.Scan() || !strings.Contains(stream.Text(), `"asked":"ann"`) {
		t.Fatalf("the stream begins with %q, %v", stream.Text(), stream.Err())
	}
	closed := make(chan error)
	go func() { closed <- n.Close(t.Context()) }()
	for stream.Scan() { // to its end
		continue
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
