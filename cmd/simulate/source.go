package simulate

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// A Log is a log to read. It may be compressed with gzip.
type Log struct {
	Name string // for people
	Text io.Reader
}

const (
	// sortWithin is how many checks of one log are held to be put in the order of time.
	sortWithin = 1 << 16
	// maxLine is how long a line may be, in bytes.
	maxLine = 1 << 20
)

// A source is one log: it reads lines ahead, and gives their checks in the order of time. A line that stands more than sortWithin
// checks behind one with a later time is left out.
type source struct {
	name   string
	text   *bufio.Reader
	reader *reader
	line   int64 // that was read last
	ended  bool
	held   byTime
	latest int64 // time of what was given last
}

// openSource begins to read a log.
func openSource(log Log, r *reader) (*source, error) {
	s := &source{name: log.Name, text: bufio.NewReaderSize(log.Text, 1<<16), reader: r}
	if magic, err := s.text.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		unpacked, err := gzip.NewReader(s.text)
		if err != nil {
			return nil, s.broken(err)
		}
		s.text = bufio.NewReaderSize(unpacked, 1<<16)
	}
	err := s.fill()
	return s, err
}

// broken is the error of a log that cannot be read.
func (s *source) broken(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: after line %d: the gzip file is cut off", s.name, s.line)
	}
	return fmt.Errorf("%s: after line %d: %w", s.name, s.line, err)
}

// next takes the earliest check that is held.
func (s *source) next() (check, error) {
	c := s.held.pop()
	s.latest = c.at
	return c, s.fill()
}

// fill reads on until enough is held, or the log has ended.
func (s *source) fill() error {
	for len(s.held) < sortWithin && !s.ended {
		text, err := s.readLine()
		switch {
		case errors.Is(err, io.EOF):
			s.ended = true
		case err != nil:
			return s.broken(err)
		}
		if len(text) > 0 {
			s.take(text)
		}
	}
	return nil
}

// take holds the check of a line, or leaves the line out.
func (s *source) take(text []byte) {
	tally := s.reader.tally
	tally.Lines++
	c, err := check{}, error(errLong)
	if len(text) <= maxLine {
		c, err = s.reader.parse(text)
	}
	if err == nil && c.at < s.latest {
		err = errLate
	}
	if why, is := errors.AsType[*lineError](err); is {
		tally.leaveOut(s.name, s.line, why)
		return
	}
	if err != nil {
		tally.leaveOut(s.name, s.line, &lineError{unreadable, err.Error()})
		return
	}
	c.line = s.line
	s.held.push(c)
}

var (
	errLong = &lineError{unreadable, fmt.Sprintf("is longer than %d bytes", maxLine)}
	errLate = &lineError{late, fmt.Sprintf("its time is before that of a line more than %d lines above: sort the log by time", sortWithin)}
)

// readLine reads a line without its end and white space around it. Of one that is too long it returns only a part, which is also
// too long. With io.EOF there may be a last line.
func (s *source) readLine() ([]byte, error) {
	text, err := s.text.ReadSlice('\n')
	s.line++
	if !errors.Is(err, bufio.ErrBufferFull) {
		return trimmed(text), err
	}
	long := bytes.Clone(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = s.text.ReadSlice('\n')
		if len(long) <= maxLine {
			long = append(long, text...)
		}
	}
	return trimmed(long), err
}
