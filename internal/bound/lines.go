package bound

import (
	"sync"
	"time"
)

// Lines keeps a log readable: about one topic there is one line in a while, which says how many there would have been.
type Lines struct {
	every time.Duration
	mu    sync.Mutex
	said  map[string]*line
}

type line struct {
	at    time.Time
	since int // lines that were not written since
}

const (
	// lineEvery is how long a topic is silent after a line.
	lineEvery = time.Minute
	// maxTopics is how many topics are remembered: somebody may invent them.
	maxTopics = 1000
)

// NewLines is for a line a minute about each topic.
func NewLines() *Lines { return LinesEvery(lineEvery) }

// LinesEvery is for a line in that time.
func LinesEvery(d time.Duration) *Lines { return &Lines{every: d, said: map[string]*line{}} }

// May says whether a line about topic may be written now, and how many were not since the last one.
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

// Once says whether nothing was said about topic since it was over, and notes that something was.
func (l *Lines) Once(topic string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, said := l.said[topic]
	l.said[topic] = &line{at: time.Now()}
	return !said
}

// Over lets something be said about topic again.
func (l *Lines) Over(topic string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.said, topic)
}
