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

// An httpTarget is what is asked over HTTP/1.1, always with the same request but for the key.
type httpTarget struct {
	address string
	head    string // the request up to the key, which ends it
	status  int    // what every answer is to have
}

// service makes a service whose callers have a connection each, from the beginning of a load to its end: the warm-up covers
// that they are made.
func (h httpTarget) service(cpu func() time.Duration) service {
	return service{
		caller: func(int) caller { return &httpCaller{target: h} },
		cpu:    cpu,
		close:  func() error { return nil },
	}
}

// An httpCaller makes one request after another over one connection. It is a small part of a client, because that shares
// the processors with what is measured: a write and a read for each request, and no allocation.
type httpCaller struct {
	target  httpTarget
	conn    net.Conn // nil: none, or it has failed
	reader  *bufio.Reader
	request []byte
}

// bodyShown is how much of the body of an unexpected answer is shown.
const bodyShown = 300

// call makes a request with the only key.
func (c *httpCaller) call(ctx context.Context, keys []string, t *tally) bool {
	status, body, err := c.exchange(ctx, keys[0])
	switch {
	case err != nil && ctx.Err() != nil:
		if !errors.Is(context.Cause(ctx), errUnanswered) {
			return false
		}
		t.failed("HTTP", errUnanswered.Error(), 1)
	case err != nil:
		t.failed("HTTP", err.Error(), 1)
	case status != c.target.status:
		t.failed("HTTP "+strconv.Itoa(status), fmt.Sprintf("status %d, not %d: %s", status, c.target.status, body), 1)
	default:
		t.decided(true)
	}
	return true
}

// exchange sends a request and reads the answer: its status and, where that is not what it is to be, the beginning of its
// body. After an error the next exchange begins with a new connection.
func (c *httpCaller) exchange(ctx context.Context, key string) (status int, body []byte, err error) {
	if c.conn == nil {
		if err := c.dial(ctx); err != nil {
			return 0, nil, err
		}
	}
	defer func() {
		if err != nil {
			c.conn.Close() //nolint:errcheck // it is of no use any more
			c.conn = nil
		}
	}()
	c.request = append(append(append(c.request[:0], c.target.head...), key...), "\r\n\r\n"...)
	if _, err := c.conn.Write(c.request); err != nil {
		return 0, nil, err
	}
	a, err := readHTTPAnswer(c.reader)
	if err != nil {
		return 0, nil, err
	}
	if a.status != c.target.status {
		body = make([]byte, min(a.length, bodyShown))
		if _, err := io.ReadFull(c.reader, body); err != nil {
			return 0, nil, err
		}
	}
	_, err = c.reader.Discard(a.length - len(body))
	return a.status, body, err
}

// dial connects until ctx ends.
func (c *httpCaller) dial(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: reachWithin}).DialContext(ctx, "tcp", c.target.address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // it is not needed any more, or has failed before
	c.conn, c.reader = conn, bufio.NewReader(conn)
	return nil
}
