package redis

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// words is a command on the wire.
func words(all ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(all))
	for _, word := range all {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	return b.String()
}

// readAnswer reads one answer strictly, and writes it on one line.
func readAnswer(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	if len(line) < 3 || !strings.HasSuffix(line, "\r\n") {
		return "", fmt.Errorf("%q is no line", line)
	}
	kind, rest := line[0], line[1:len(line)-2]
	switch kind {
	case '+', ':', '-':
		return strings.TrimLeft(string(kind), "+:") + rest, nil
	case '_':
		return "null", nil
	}
	n, err := strconv.Atoi(rest)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q: %w", line, err)
	case n < 0:
		return "null", nil
	case kind == '$':
		text := make([]byte, n+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return "", err
		}
		if string(text[n:]) != "\r\n" {
			return "", fmt.Errorf("%q does not end where it should", text)
		}
		return strconv.Quote(string(text[:n])), nil
	case kind == '%':
		n *= 2
	case kind != '*':
		return "", fmt.Errorf("%q is no answer", line)
	}
	all := make([]string, n)
	for i := range all {
		if all[i], err = readAnswer(r); err != nil {
			return "", err
		}
	}
	return string(kind) + "[" + strings.Join(all, " ") + "]", nil
}
