package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// A respCommand is a command of Redis' protocol for one key: its arguments before the key and behind it, and whether an answer, or the first number
// of one that is an array, admits.
type respCommand struct {
	before, after []string
	admits        func(first int64) bool
}

// append adds the command with that key to out.
func (c *respCommand) append(out []byte, key string) []byte {
	out = fmt.Appendf(out, "*%d\r\n", len(c.before)+1+len(c.after))
	for _, word := range c.before {
		out = appendBulk(out, word)
	}
	out = appendBulk(out, key)
	for _, word := range c.after {
		out = appendBulk(out, word)
	}
	return out
}

func appendBulk(out []byte, word string) []byte {
	out = append(out, '$')
	out = strconv.AppendInt(out, int64(len(word)), 10)
	out = append(out, "\r\n"...)
	out = append(out, word...)
	return append(out, "\r\n"...)
}

// dialRESP makes a service of servers that speak Redis' protocol. It has a connection for each caller, and costs the generator less than a
// client library does, on both sides of a comparison.
func dialRESP(ctx context.Context, servers []string, l Load, command respCommand, cpu func() time.Duration) (service, error) {
	conns := make([]*respCaller, l.Callers)
	s := service{cpu: cpu, caller: func(number int) caller { return conns[number] }}
	s.close = func() error {
		var errs []error
		for _, c := range conns {
			if c != nil {
				errs = append(errs, c.conn.Close())
			}
		}
		return errors.Join(errs...)
	}
	for i := range conns {
		conn, err := (&net.Dialer{Timeout: reachWithin}).DialContext(ctx, "tcp", servers[i%len(servers)])
		if err != nil {
			return service{}, errors.Join(err, s.close())
		}
		conns[i] = &respCaller{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), command: command}
	}
	return s, nil
}

// A respCaller sends a command for each key, all at once, and reads their answers.
type respCaller struct {
	conn    net.Conn
	in      *bufio.Reader
	out     []byte
	command respCommand
}

func (c *respCaller) call(ctx context.Context, keys []string, t *tally) bool {
	stop := context.AfterFunc(ctx, func() { c.conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // a closed one is known by its error
	defer stop()
	c.out = c.out[:0]
	for _, key := range keys {
		c.out = c.command.append(c.out, key)
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return t.failedCall(ctx, err, len(keys))
	}
	for i := range keys {
		first, err := c.answer()
		switch refused := respError(""); {
		case err == nil:
			t.decided(c.command.admits(first))
		case errors.As(err, &refused):
			t.failed("Redis", err.Error(), 1)
		default:
			return t.failedCall(ctx, err, len(keys)-i)
		}
	}
	return true
}

// A respError is an answer that says what is wrong.
type respError string

// Error implements error.
func (e respError) Error() string { return string(e) }

// answer reads one answer, and returns its number, or the first of its array.
func (c *respCaller) answer() (first int64, err error) {
	line, err := c.line()
	if err != nil {
		return 0, err
	}
	switch line[0] {
	case '-':
		return 0, respError(line[1:])
	case ':':
		return strconv.ParseInt(string(line[1:]), 10, 64)
	case '*':
	default:
		return 0, fmt.Errorf("an answer that begins with %q", line)
	}
	n, err := strconv.Atoi(string(line[1:]))
	for i := range n {
		number, wrong := c.answer()
		if i == 0 {
			first = number
		}
		err = errors.Join(err, wrong)
	}
	return first, err
}

// line is the next line, without its end. It is overwritten by the one that follows.
func (c *respCaller) line() ([]byte, error) {
	line, err := c.in.ReadSlice('\n')
	switch {
	case err != nil:
		return nil, err
	case len(line) < 3:
		return nil, io.ErrUnexpectedEOF
	}
	return line[:len(line)-2], nil
}
