package accesslog

import (
	"bytes"
	"time"
)

const (
	// maxWaiting is how many bytes of lines wait to be written; more are dropped.
	maxWaiting = 4 << 20
	// again is after how long a write that failed is tried again.
	again = time.Second
)

// run writes what waits until the log is closed and nothing waits any more.
func (l *Log) run() {
	defer close(l.ended)
	defer func() { l.failed(l.file.Close()) }()
	var lines []byte
	for {
		<-l.wake
		var reopen, closed bool
		lines, reopen, closed = l.take(lines)
		if reopen {
			l.renew()
		}
		if !l.write(lines) || closed {
			return
		}
	}
}

// take is what waits, in exchange for the room of the last time.
func (l *Log) take(room []byte) (lines []byte, reopen, closed bool) {
	if cap(room) > maxWaiting/8 { // of a time in which nothing could be written
		room = nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, l.waiting = l.waiting, room[:0]
	reopen, l.reopen = l.reopen, false
	return lines, reopen, l.closed
}

// renew opens the file anew. If that fails, lines go on to where they went.
func (l *Log) renew() {
	next, err := l.open()
	if l.failed(err); err != nil {
		return
	}
	_ = l.file.Close() // what was written is written
	l.file = next
}

// write writes lines, all of them, however long that takes: a rest of a line that did not fit on a disk comes before anything else. It
// returns false if it was to wait no longer.
func (l *Log) write(lines []byte) bool {
	torn := false
	for len(lines) > 0 {
		n, err := l.file.Write(lines)
		if n > 0 {
			torn = lines[n-1] != '\n'
		}
		lines = lines[n:]
		l.failed(err)
		if len(lines) == 0 {
			break
		}
		if !l.pause() {
			l.drop(lines)
			return false
		}
		if l.wantsReopen() {
			if torn { // its beginning stays in the other file
				lines = lines[bytes.IndexByte(lines, '\n')+1:]
				l.metrics.dropped.Inc()
				torn = false
			}
			l.renew()
		}
	}
	return true
}

// pause waits before the next attempt to write, and returns false when the log is closed meanwhile, and who closes it waits no longer.
func (l *Log) pause() bool {
	timer := time.NewTimer(again)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.kill:
		return false
	}
}

func (l *Log) wantsReopen() (wants bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wants, l.reopen = l.reopen, false
	return wants
}

// drop counts lines that will not be written.
func (l *Log) drop(lines []byte) { l.metrics.dropped.Add(float64(bytes.Count(lines, []byte{'\n'}))) }

// failed logs that writing fails, once until it works again.
func (l *Log) failed(err error) {
	switch {
	case err != nil:
		l.metrics.failures.Inc()
		if !l.failing {
			l.failing = true
			l.log.Warn("the access log cannot be written; lines that find no room are dropped until it can", "path", l.path, "error", err)
		}
	case l.failing:
		l.failing = false
		l.log.Info("the access log is written again", "path", l.path)
	}
}
