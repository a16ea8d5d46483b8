package bench

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestReadHTTPAnswer(t *testing.T) {
	for _, tt := range []struct {
		text string
		want httpAnswer
		err  string // empty: it can be read
	}{
		{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", httpAnswer{200, 3}, ""},
		{"HTTP/1.1 200\r\ncontent-length:  3 \r\nRateLimit: \"a\";r=1\r\n\r\nabc", httpAnswer{200, 3}, ""},
		{"HTTP/1.1 200 OK\nContent-Length: 0\n\n", httpAnswer{200, 0}, ""},
		{"HTTP/1.1 204 No Content\r\nDate: today\r\n\r\n", httpAnswer{204, 0}, ""},
		{"HTTP/1.1 304 Not Modified\r\nContent-Length: 700\r\n\r\n", httpAnswer{304, 0}, ""},
		{"HTTP/1.1 429 Too Many Requests\r\nConnection: keep-alive\r\nContent-Length: 10\r\n\r\n", httpAnswer{429, 10}, ""},
		{"HTTP/1.1 200 OK\r\n\r\n", httpAnswer{}, "status 200 has no Content-Length"},
		{"HTTP/1.1 200 OK\r\nContent-Length: -3\r\n\r\n", httpAnswer{}, `Content-Length "-3"`},
		{"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", httpAnswer{}, `Content-Length "x"`},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", httpAnswer{}, "Transfer-Encoding chunked"},
		{"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n", httpAnswer{}, "the server hangs up after status 200"},
		{"HTTP/1.0 200 OK\r\n\r\n", httpAnswer{}, "is not how an answer of HTTP/1.1 begins"},
		{"HTTP/1.1 20\r\n\r\n", httpAnswer{}, "is not how an answer of HTTP/1.1 begins"},
		{"HTTP/1.1 two hundred\r\n\r\n", httpAnswer{}, "has no status"},
		{"", httpAnswer{}, io.ErrUnexpectedEOF.Error()},
		{"HTTP/1.1 200 OK\r\nContent-Le", httpAnswer{}, io.ErrUnexpectedEOF.Error()},
		{"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 5000) + "\r\n\r\n", httpAnswer{}, bufio.ErrBufferFull.Error()},
	} {
		r := bufio.NewReader(strings.NewReader(tt.text))
		got, err := readHTTPAnswer(r)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%.40q: %+v, %v, want %q", tt.text, got, err, tt.err)
			}
			continue
		}
		_, body, _ := strings.Cut(strings.ReplaceAll(tt.text, "\r", ""), "\n\n")
		rest, err2 := io.ReadAll(r)
		if err != nil || err2 != nil || got != tt.want || string(rest) != body {
			t.Errorf("%q: %+v and %q, %v %v, want %+v and %q", tt.text, got, rest, err, err2, tt.want, body)
		}
	}
}

// The generator shares the processors with what it measures.
func TestReadHTTPAnswerAllocatesNothing(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\nDate: Sat, 21 Nov 2026 18:11:04 GMT\r\n\r\nabc"
	source := strings.NewReader(text)
	r := bufio.NewReader(source)
	var failed error
	n := testing.AllocsPerRun(100, func() {
		source.Reset(text)
		r.Reset(source)
		if a, err := readHTTPAnswer(r); err != nil || a.length != 3 {
			failed = fmt.Errorf("%+v, %w", a, err)
		}
	})
	if failed != nil || n > 0 {
		t.Errorf("%v allocations, %v", n, failed)
	}
}
