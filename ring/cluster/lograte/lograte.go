// Package lograte keeps the log of a node readable: a [Throttle] allows one line about a topic in half a minute, and a [Debounce]
// tells a lasting condition from one that passes.
package lograte

import (
	"sync"
	"time"
)

// A Throttle allows one log line about a topic in half a minute.
type Throttle struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// Interval is how long a topic is silent after a line.
const Interval = 30 * time.Second

// NewThrottle makes a throttle that allows one line about every topic.
func NewThrottle() *Throttle { return &Throttle{said: map[string]time.Time{}} }

// Allow says whether a line about topic may be logged now, and records that it was.
func (s *Throttle) Allow(topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, said := s.said[topic]; said && now.Sub(at) < Interval {
		return false
	}
	if len(s.said) >= 1000 { // topics may be invented from outside
		clear(s.said)
	}
	s.said[topic] = now
	return true
}

// A Debounce tells a lasting condition from one that passes.
type Debounce struct {
	mu    sync.Mutex
	since map[string]span
}

// A span is the time over which a condition was noted again and again, and whether it was reported as lasting.
type span struct {
	first, last time.Time
	told        bool
}

const (
	// LastsAfter is how long a condition must go on to be lasting: a node that restarts is back by then.
	LastsAfter = 30 * time.Second
	// OverAfter is how long after it was last noted a condition is over.
	OverAfter = 15 * time.Second
)

// NewDebounce makes a debounce without conditions.
func NewDebounce() *Debounce { return &Debounce{since: map[string]span{}} }

// Lasts notes that a condition holds. It returns true once when the condition has become lasting, and not again until it is over.
func (l *Debounce) Lasts(topic string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	s, known := l.since[topic]
	if !known || now.Sub(s.last) > OverAfter {
		s = span{first: now}
	}
	if len(l.since) >= 1000 { // topics may be invented from outside
		clear(l.since)
	}
	s.last = now
	long := !s.told && now.Sub(s.first) >= LastsAfter
	s.told = s.told || long
	l.since[topic] = s
	return long
}
