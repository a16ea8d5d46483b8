package simulate

import (
	"fmt"
	"slices"
	"strings"
)

// An access is a line of an access log in the common format, or in the combined one, which has two fields more:
//
//	192.0.2.7 - alice [10/Oct/2026:13:55:36 +0200] "GET /items?page=2 HTTP/1.1" 200 2326 "https://example.com/" "curl/8"
//	addr  ident user   time                         method path  query  protocol  status bytes   referer            agent
//
// What stands behind those is left aside, since many add fields there.
type access struct {
	values [len(accessFields)]string
	at     int64
}

// The places of the fields in an access.
const (
	addr = iota
	ident
	user
	method
	path
	query
	protocol
	status
	size
	referer
	agent
)

var accessFields = [...]string{"addr", "ident", "user", "method", "path", "query", "protocol", "status", "bytes", "referer", "agent"}

// errNoAccess is a line that is neither.
var errNoAccess = &lineError{unreadable, "is neither a JSON object nor a line of an access log in the common or combined format"}

// parse reads a line; what it returns is valid until the next call.
func (a *access) parse(text []byte, clock *stamp) (line, error) {
	*a = access{}
	rest := string(text)
	for _, field := range []int{addr, ident, user} {
		var ok bool
		if a.values[field], rest, ok = strings.Cut(rest, " "); !ok || a.values[field] == "" {
			return nil, errNoAccess
		}
	}
	when, rest, ok := strings.Cut(rest, "] ")
	if !ok || !strings.HasPrefix(when, "[") {
		return nil, errNoAccess
	}
	var err error
	if a.at, err = clock.read(when[1:]); err != nil {
		return nil, err
	}
	request, rest, ok := quoted(rest)
	if !ok {
		return nil, errNoAccess
	}
	a.request(request)
	rest = strings.TrimPrefix(rest, " ")
	a.values[status], rest, _ = strings.Cut(rest, " ")
	a.values[size], rest, _ = strings.Cut(rest, " ")
	if a.values[status] == "" || strings.Trim(a.values[status], "0123456789-") != "" {
		return nil, errNoAccess
	}
	if a.values[referer], rest, ok = quoted(rest); ok {
		a.values[agent], _, _ = quoted(strings.TrimPrefix(rest, " "))
	}
	return a, nil
}

// request takes the first line of a request apart.
func (a *access) request(text string) {
	var target string
	a.values[method], target, _ = strings.Cut(text, " ")
	target, a.values[protocol], _ = strings.Cut(target, " ")
	a.values[path], a.values[query], _ = strings.Cut(target, "?")
}

// quoted cuts off a text in quotes, in which a backslash stands before a quote that does not end it.
func quoted(text string) (inside, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", text, false
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return text[1:i], text[i+1:], true
		}
	}
	return "", text, false
}

// field is that of a name; one that is empty or a dash is none.
func (a *access) field(name string) (value string, ok bool, err error) {
	at := slices.Index(accessFields[:], name)
	if at < 0 {
		if name == "cost" || name == "plan" {
			return "", false, nil
		}
		return "", false, &lineError{unreadable, fmt.Sprintf("%s: an access log has no such field: use %s", name, strings.Join(accessFields[:], ", "))}
	}
	value = a.values[at]
	return value, value != "" && value != "-", nil
}

// time is the one of the line: there is only one.
func (a *access) time([]string) (int64, error) { return a.at, nil }

// names are the fields that it has.
func (a *access) names() []string { return accessFields[:] }
