package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// An httpAnswer is how the answer to an HTTP/1.1 request begins.
type httpAnswer struct {
	status int
	length int // of the body that follows, in bytes
}

// readHTTPAnswer reads an answer up to its body. It allocates nothing, and knows no more of HTTP than what is measured
// here uses: an answer without a length, or one after which the server hangs up, is an error.
func readHTTPAnswer(r *bufio.Reader) (httpAnswer, error) {
	line, err := httpLine(r)
	if err != nil {
		return httpAnswer{}, err
	}
	a := httpAnswer{length: -1}
	code, isAnswer := bytes.CutPrefix(line, []byte("HTTP/1.1 "))
	if !isAnswer || len(code) < 3 {
		return a, fmt.Errorf("%q is not how an answer of HTTP/1.1 begins", line)
	}
	if a.status, err = strconv.Atoi(string(code[:3])); err != nil { // the compiler makes no string of it
		return a, fmt.Errorf("%q has no status", line)
	}
	for {
		line, err := httpLine(r)
		if err != nil {
			return a, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if err := a.field(name, bytes.TrimSpace(value)); err != nil {
			return a, err
		}
	}
	switch {
	case a.status == 204 || a.status == 304:
		a.length = 0
	case a.length < 0:
		return a, fmt.Errorf("an answer with status %d has no Content-Length", a.status)
	}
	return a, nil
}

// field takes in a field of the header.
func (a *httpAnswer) field(name, value []byte) error {
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		length, err := strconv.Atoi(string(value))
		if err != nil || length < 0 {
			return fmt.Errorf("an answer has Content-Length %q", value)
		}
		a.length = length
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		return fmt.Errorf("an answer has Transfer-Encoding %s: only a Content-Length is read", value)
	case bytes.EqualFold(name, []byte("Connection")) && bytes.EqualFold(value, []byte("close")):
		return fmt.Errorf("the server hangs up after status %d: only connections that stay are measured", a.status)
	}
	return nil
}

// httpLine is the next line without its end. It is valid until the next read.
func httpLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}
