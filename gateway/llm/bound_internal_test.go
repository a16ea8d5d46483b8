package llm

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// flood is a body of so many bytes without the end of a line.
type flood struct{ left int }

func (f *flood) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), f.left)
	f.left -= n
	copy(p, bytes.Repeat([]byte{'x'}, n))
	return n, nil
}

func (*flood) Close() error { return nil }

// kept is how many bytes a wrapped body has room for.
func kept(b io.ReadCloser) int {
	switch b := b.(type) {
	case *filter:
		return cap(b.held) + cap(b.ready) + cap(b.piece)
	case *body:
		switch o := b.observer.(type) {
		case *document:
			return cap(o.kept)
		case *compressed:
			return cap(o.kept)
		}
	}
	return 0
}

// TestBounds passes 30 MiB that are never read in full, and looks at what is kept; package sse has a test for what it keeps.
func TestBounds(t *testing.T) {
	chat, err := FormatOf(OpenAIChat)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind, encoding string
		most           int
	}{
		{"text/event-stream", "", 4 << 20},
		{"application/json", "", 12 << 20},
		{"text/event-stream", "gzip", 12 << 20},
	} {
		const size = 30 << 20
		r := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.kind}, "Content-Encoding": {c.encoding}}, Body: &flood{size}}
		Watch{Format: chat, RemoveUsage: true, Report: func(Answer) {}}.Wrap(r)
		most, passed := 0, 0
		p := make([]byte, 20_000)
		for {
			n, err := r.Body.Read(p)
			passed += n
			most = max(most, kept(r.Body))
			if err != nil {
				break
			}
		}
		rest := kept(r.Body)
		r.Body.Close()
		if passed != size {
			t.Errorf("%s %s: passed %d bytes", c.kind, c.encoding, passed)
		}
		if most > c.most || most < 1<<20 || rest > 200_000 {
			t.Errorf("%s %s: kept up to %d bytes, and %d at the end", c.kind, c.encoding, most, rest)
		}
	}
}
