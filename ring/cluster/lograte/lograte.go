// Package lograte keeps the log of a node readable: a [Throttle] lets a line about one topic through once in half a minute,
// and a [Debounce] tells what lasts from what passes.
package lograte

import (
	"sync"
	"time"
)

// A Throttle keeps a log readable: what goes on repeating is said once in half a minute.
type Throttle struct {
	mu   sync.Mutex
	said map[string]time.Time
}

// Interval is how long a topic is silent after a line.
const Interval = 30 * time.Second

// NewThrottle is one that has let nothing through.
func NewThrottle() *Throttle { return &Throttle{said: map[string]time.Time{}} }

// Allow says whether what is to be said about topic may be said now, and notes that it was.
func (s *Throttle) Allow(topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if at, said := s.said[topic]; said && now.Sub(at) < Interval {
		return false
	}
	if len(s.said) >= 1000 { // somebody invents topics
		clear(s.said)
	}
	s.said[topic] = now
	return true
}

// A Debounce tells what lasts from what passes.
type Debounce struct {
	mu    sync.Mutex
	since map[string]span
}

// A span is from when to when something was said again and again, and whether it was found to last.
type span struct {
	first, last time.Time
	told        bool
}

const (
	// LastsAfter is from when on something lasts: a node that restarts is back by then.
	LastsAfter = 30 * time.Second
	// OverAfter is from when on something that nobody says any more is over.
	OverAfter = 15 * time.Second
)

// NewDebounce is one that knows of nothing.
func NewDebounce() *Debounce { return &Debounce{since: map[string]span{}} }

// Lasts notes that something is the case, and says, once until it is over, that it has been for long.
func (l *Debounce) Lasts(topic string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	s, known := l.since[topic]
	if !known || now.Sub(s.last) > OverAfter {
		s = span{first: now}
	}
	if len(l.since) >= 1000 { // somebody invents topics
		clear(l.since)
	}
	s.last = now
	long := !s.told && now.Sub(s.first) >= LastsAfter
	s.told = s.told || long
	l.since[topic] = s
	return long
}
