package redis

import (
	"bytes"
	"fmt"
	"strconv"
)

// The bounds of one command.
const (
	maxFrame = 1 << 20 // bytes
	maxArgs  = 1024
	maxLine  = 1 << 10 // bytes of a command that is one line of text; the parser takes up to half of the square of that

	maxStrangerFrame = 16 << 10 // bytes of a command before AUTH, where a token is needed

	maxNumber = 24 // bytes of a line that holds a length
)

// A protocolError is why a connection cannot go on: where its next command begins is not known.
type protocolError string

func (e protocolError) Error() string { return "ERR Protocol error: " + string(e) }

// A measure finds where the command at the beginning of a buffer ends, before it is parsed: the parser itself neither bounds what it waits
// for nor checks lengths for their range. It goes on where it has stopped when more of the command has come. The zero value is at a beginning.
//
//	*2\r\n $4\r\nPING\r\n $2\r\nhi\r\n
//	 │      └ args of them, each a length and as many bytes
//	 └ args
type measure struct {
	at    int // what lies before has been measured
	args  int // that are still to come
	begun bool
}

// end is the length of the command at the beginning of b, which has most bytes at most, or 0 if it is not complete yet. The error is a
// protocolError.
func (m *measure) end(b []byte, most int) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	switch b[0] {
	case '*':
		return m.array(b, most)
	case '$': // the parser would take it for another protocol
		return 0, protocolError("expected '*', got '$'")
	}
	return m.line(b)
}

// line measures a command that is one line of text.
func (m *measure) line(b []byte) (int, error) {
	i := bytes.IndexByte(b[m.at:], '\n')
	switch n := m.at + i + 1; {
	case i < 0 && len(b) > maxLine, i >= 0 && n > maxLine:
		return 0, protocolError(fmt.Sprintf("too big inline request: at most %d bytes", maxLine))
	case i < 0:
		m.at = len(b)
		return 0, nil
	default:
		return n, nil
	}
}

// array measures a command that is an array of bulk strings.
func (m *measure) array(b []byte, most int) (int, error) {
	if !m.begun {
		count, next, err := number(b, 0, "multibulk")
		if next == 0 || err != nil {
			return 0, err
		}
		if count > maxArgs {
			return 0, protocolError(fmt.Sprintf("invalid multibulk length: at most %d arguments", maxArgs))
		}
		m.begun, m.args, m.at = true, max(int(count), 0), next
	}
	for ; m.args > 0; m.args-- {
		next, err := m.bulk(b, most)
		if next == 0 || err != nil {
			return 0, err
		}
		m.at = next
	}
	return m.at, nil
}

// bulk is where the bulk string at m.at ends, or 0 if that has not come yet.
func (m *measure) bulk(b []byte, most int) (end int, err error) {
	if m.at == len(b) {
		return 0, nil
	}
	if b[m.at] != '$' {
		return 0, protocolError(fmt.Sprintf("expected '$', got %q", b[m.at]))
	}
	size, next, err := number(b, m.at, "bulk")
	if next == 0 || err != nil {
		return 0, err
	}
	if size < 0 || size > int64(most) || next+int(size)+len("\r\n") > most {
		return 0, protocolError(fmt.Sprintf("invalid bulk length: a command has at most %d bytes", most))
	}
	end = next + int(size) + len("\r\n")
	if end > len(b) {
		return 0, nil
	}
	if b[end-2] != '\r' || b[end-1] != '\n' {
		return 0, protocolError("a bulk string is longer than its length")
	}
	return end, nil
}

// number reads the line at b[at], a letter and a length; next is where the line behind it begins, or 0 if this one is not complete.
func number(b []byte, at int, what string) (n int64, next int, err error) {
	line := b[at:min(len(b), at+maxNumber)]
	i := bytes.IndexByte(line, '\n')
	if i < 0 {
		if len(line) == maxNumber {
			return 0, 0, protocolError("invalid " + what + " length")
		}
		return 0, 0, nil
	}
	if i < 2 || line[i-1] != '\r' || line[1] == '+' {
		return 0, 0, protocolError("invalid " + what + " length")
	}
	n, err = strconv.ParseInt(string(line[1:i-1]), 10, 64)
	if err != nil {
		return 0, 0, protocolError("invalid " + what + " length")
	}
	return n, at + i + 1, nil
}
