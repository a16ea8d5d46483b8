package bound

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Lines limits the rate of log lines: one line per topic and interval, which says how many were left out since the last.
type Lines struct {
	every time.Duration
	mu    sync.Mutex
	said  map[string]*line
}

type line struct {
	at    time.Time
	since int // lines left out since
}

const (
	// lineEvery is the interval between two lines of one topic.
	lineEvery = time.Minute
	// maxTopics is how many topics are remembered: clients may be able to invent them.
	maxTopics = 1000
)

// NewLines allows one line a minute for each topic.
func NewLines() *Lines { return LinesEvery(lineEvery) }

// LinesEvery allows one line per interval for each topic.
func LinesEvery(d time.Duration) *Lines { return &Lines{every: d, said: map[string]*line{}} }

// May reports whether a line about topic may be written now, and how many were left out since the last one.
func (l *Lines) May(topic string) (unwritten int, may bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	last := l.said[topic]
	if last != nil && now.Sub(last.at) < l.every {
		last.since++
		return 0, false
	}
	if last == nil {
		if len(l.said) >= maxTopics {
			clear(l.said)
		}
		last = &line{}
		l.said[topic] = last
	}
	unwritten, last.at, last.since = last.since, now, 0
	return unwritten, true
}

// NewLogger makes a log.Logger, for net/http, that writes warnings to a slog.Logger: one line a minute for each reason.
func NewLogger(to *slog.Logger) *log.Logger {
	return log.New(&quiet{to, NewLines()}, "", 0)
}

// quiet receives the lines of NewLogger.
type quiet struct {
	to    *slog.Logger
	lines *Lines
}

// Write implements io.Writer.
func (q *quiet) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	if before, may := q.lines.May(Reason(text)); may {
		q.to.Warn(text, "more_since_last", before) //nolint:sloglint // the words are the library's
	}
	return len(line), nil
}

// Reason is the constant part of a line: its first words, up to a name, a number or an address.
func Reason(line string) string {
	start := strings.IndexByte(line, ':') + 1 // "http: TLS handshake error from …"
	if end := strings.IndexAny(line[start:], `"'(:=%0123456789`); end > 0 {
		return line[:start+end]
	}
	return line
}
