package accesslog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func counted(t *testing.T, c prometheus.Counter) int {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return int(m.GetCounter().GetValue())
}

// checkLines checks that a text is whole lines of JSON, and returns their paths.
func checkLines(t *testing.T, text []byte) (paths []string) {
	t.Helper()
	for line := range bytes.Lines(text) {
		var e struct{ Path string }
		if err := json.Unmarshal(line, &e); err != nil || line[len(line)-1] != '\n' {
			t.Fatalf("%q is no whole line: %v", line, err)
		}
		paths = append(paths, e.Path)
	}
	return paths
}

func closed(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// Lines go to the end of a file, and to a new one once the old one was moved away.
func TestRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.log")
	l, err := Open(Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	l.Write(&Entry{Path: "/one"})
	closed(t, l)
	if l, err = Open(Config{Path: path}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l.Reopen()
	l.Write(&Entry{Path: "/two"})
	closed(t, l)
	for at, want := range map[string]string{path + ".1": "/one", path: "/two"} {
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(checkLines(t, text), " "); got != want {
			t.Errorf("%s has %q, want %q", filepath.Base(at), got, want)
		}
	}
	l.Write(&Entry{}) // after the end: dropped
	if counted(t, l.metrics.dropped) != 1 {
		t.Error("a line after the end is not counted as dropped")
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := Open(Config{Path: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "access_log") {
		t.Errorf("a directory is opened: %v", err)
	}
}

// A disk takes so many bytes at a time, and fails then.
type disk struct {
	mu   sync.Mutex
	text bytes.Buffer
	room int // below 0: no bound
}

var errFull = errors.New("no space left on device")

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(p)
	if d.room >= 0 {
		n = min(n, d.room)
		d.room -= n
	}
	d.text.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func (*disk) Close() error { return nil }

func (d *disk) free(room int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = room
}

// on runs a Log on files of a test.
func on(files ...io.WriteCloser) *Log {
	l := newLog(Config{Path: "test"}, func() (io.WriteCloser, error) {
		if len(files) == 0 {
			return nil, errFull
		}
		next := files[0]
		files = files[1:]
		return next, nil
	})
	l.file, _ = l.open()
	go l.run()
	return l
}

// A full disk holds no request up, drops what finds no room and counts it, and tears no line: when there is room again, the rest of a line
// comes first.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{room: 100}
		l := on(d)
		all := 0
		for counted(t, l.metrics.dropped) == 0 {
			l.Write(&Entry{Path: strings.Repeat("x", maxLong), UserAgent: strings.Repeat("y", maxLong)})
			all++
			if all%100 == 0 {
				synctest.Wait()
			}
		}
		if len(l.waiting) > maxWaiting {
			t.Errorf("%d bytes wait", len(l.waiting))
		}
		d.free(-1)
		closed(t, l)
		if got := len(checkLines(t, d.text.Bytes())); got != all-1 {
			t.Errorf("%d lines of %d were written, and 1 dropped", got, all)
		}
		if counted(t, l.metrics.failures) == 0 {
			t.Error("no failure is counted")
		}
	})
}

// A line of which the beginning is in a file that was moved away meanwhile does not go on in the new file.
func TestRotationOfAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := &disk{room: 30}, &disk{room: -1}
		l := on(before, after)
		l.Write(&Entry{Path: "/torn"})
		synctest.Wait()
		l.Write(&Entry{Path: "/whole"})
		l.Reopen()
		<-time.After(2 * again)
		closed(t, l)
		if got := strings.Join(checkLines(t, after.text.Bytes()), " "); got != "/whole" {
			t.Errorf("the new file has %q", got)
		}
		if counted(t, l.metrics.dropped) != 1 {
			t.Error("the torn line is not counted")
		}
	})
}

// A reader that does not read holds up neither requests nor, for longer than it may, the end.
func TestBlockedPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		l := on(w)
		for range 10 {
			l.Write(&Entry{})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Close(ctx); err == nil {
			t.Error("Close says that all is written")
		}
		if err := r.Close(); err != nil { // ends the write
			t.Error(err)
		}
		<-l.ended
	})
}

// Where a file cannot be opened anew, lines go on to where they went.
func TestReopenFails(t *testing.T) {
	d := &disk{room: -1}
	l := on(d)
	l.Reopen()
	l.Write(&Entry{Path: "/still"})
	closed(t, l)
	if got := strings.Join(checkLines(t, d.text.Bytes()), " "); got != "/still" {
		t.Errorf("%q", got)
	}
}

// FuzzLine makes lines of whatever clients send: each is one line of JSON, and not too long.
func FuzzLine(f *testing.F) {
	f.Add("/a\nb", "agent\xff\u2028", "key\x00\"", "GET\r\n")
	f.Add(strings.Repeat("é", maxLong), strings.Repeat("\x01", maxLong), strings.Repeat("\xff", maxText+1), "</script>")
	f.Fuzz(func(t *testing.T, path, agent, key, method string) {
		e := &Entry{
			Time: time.Unix(0, 0), Path: path, UserAgent: agent, Method: method, RequestID: agent, Error: path, Host: key, Route: method, TraceID: path,
			Limits: []Limit{{Limit: method, Key: key, RetryAfter: Millis(1500 * time.Microsecond)}},
		}
		line := e.line()
		if n := bytes.IndexByte(line, '\n'); n != len(line)-1 || n < 0 {
			t.Fatalf("%q is not one line", line)
		}
		if !json.Valid(line) || !bytes.Contains(line, []byte(`"retry_after_ms":1.5`)) {
			t.Fatalf("%q is no JSON, or a time is wrong", line)
		}
		if len(line) > 64<<10 {
			t.Fatalf("a line has %d bytes", len(line))
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	d := on(&disk{room: 0})
	defer func() {
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		_ = d.Close(ctx)
	}()
	e := &Entry{Time: time.Now(), Outcome: "denied", Status: 429, Method: "GET", Path: "/items", Limits: []Limit{{Limit: "login", Key: "user:42"}}}
	for b.Loop() {
		d.Write(e)
	}
}

// Whoever reads lines in a terminal is safe from what clients send.
func TestLinesSteerNoTerminal(t *testing.T) {
	for _, text := range []string{"\x1b[2J\a\r\n", "\u009b2J", "\x9b2J", "\x7f", "\u202egnp", "\u0085\u2028", "\U000e0041", "日本語 é 😀"} {
		line := string((&Entry{Path: text, UserAgent: "a" + text + "b", Limits: []Limit{{Key: text}}}).line())
		for _, r := range strings.TrimSuffix(line, "\n") {
			if !strconv.IsPrint(r) {
				t.Errorf("%q is in the line of %q: %q", r, text, line)
			}
		}
		var read Entry
		if err := json.Unmarshal([]byte(line), &read); err != nil || read.UserAgent != "a"+strings.ToValidUTF8(text, "\uFFFD")+"b" {
			t.Errorf("%q is read as %+v, %v", line, read, err)
		}
	}
}
