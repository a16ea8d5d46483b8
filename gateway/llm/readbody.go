package llm

import (
	"errors"
	"fmt"
	"io"
)

// ErrTooLarge means that a body is larger than its reader accepts.
var ErrTooLarge = errors.New("the body is too large")

// firstBytes is the memory in which a body begins.
const firstBytes = 8 << 10

// ReadBody reads a body of at most bound bytes. The memory for it grows with what arrives, up to twice as much and never beyond the bound, so
// that a client which announces a long body and sends none takes 8 KiB. Reserve is called before so many bytes more are taken, and its error
// ends the reading; nil takes what is needed. The errors are ErrTooLarge, those of reserve and those of r.
func ReadBody(r io.Reader, bound int64, reserve func(bytes int64) error) (body []byte, err error) {
	var beyond [1]byte // where the memory is as long as the bound, to see that the body ends there
	for {
		if len(body) == cap(body) {
			if body, err = grown(body, bound, reserve); err != nil {
				return nil, err
			}
		}
		space := body[len(body):cap(body)]
		full := len(space) == 0
		if full {
			space = beyond[:]
		}
		n, err := r.Read(space)
		ended := errors.Is(err, io.EOF)
		switch {
		case n > 0 && full:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, bound)
		case err != nil && !ended:
			return nil, err
		}
		if body = body[:len(body)+n]; ended {
			return body, nil
		}
	}
}

// grown is a full body in twice the memory, or in as much as it may have.
func grown(body []byte, bound int64, reserve func(bytes int64) error) ([]byte, error) {
	size := min(max(2*int64(cap(body)), firstBytes), bound)
	more := size - int64(cap(body))
	if more == 0 {
		return body, nil
	}
	if reserve != nil {
		if err := reserve(more); err != nil {
			return nil, err
		}
	}
	return append(make([]byte, 0, size), body...), nil
}
