package standin

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/spelling"
)

// An environment reads variables, and notes what is wrong with them.
type environment struct {
	all  map[string]string
	errs []error
}

// newEnvironment is that of entries, each name=value.
func newEnvironment(entries []string) *environment {
	e := &environment{all: map[string]string{}}
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		e.all[name] = value
	}
	return e
}

func (e *environment) wrong(name, format string, args ...any) {
	e.errs = append(e.errs, fmt.Errorf("%s: %s", name, fmt.Sprintf(format, args...)))
}

// err is everything that is wrong.
func (e *environment) err() error { return errors.Join(e.errs...) }

// text is a variable, or what stands for it if it is not set.
func (e *environment) text(name, unset string) string {
	value, set := e.all[name]
	switch {
	case !set:
		return unset
	case !utf8.ValidString(value):
		e.wrong(name, "is not UTF-8")
	}
	return value
}

// choice is a variable that has one of these values.
func (e *environment) choice(name, unset string, values ...string) string {
	value := e.text(name, unset)
	if !slices.Contains(values, value) {
		e.wrong(name, "%q is not known: use %s", value, strings.Join(values, ", "))
	}
	return value
}

func (e *environment) flag(name string) bool {
	value, set := e.all[name]
	if !set {
		return false
	}
	is, err := strconv.ParseBool(value)
	if err != nil {
		e.wrong(name, "%q is neither true nor false: write one of them, or leave it out", value)
	}
	return is
}

// number is a whole number from 1 to most.
func (e *environment) number(name string, unset, most int64) int64 {
	value, set := e.all[name]
	if !set {
		return unset
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 || n > most {
		e.wrong(name, "%q is no whole number from 1 to %d", value, most)
		return unset
	}
	return n
}

// pause is a duration above 0; 0 if it is not set.
func (e *environment) pause(name string) time.Duration {
	value, set := e.all[name]
	if !set {
		return 0
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		e.wrong(name, "%q is no duration above 0: write one such as 10s", value)
	}
	return d
}

// address is made of a variable with a host and one with a port, of which 0 is any that is free.
func (e *environment) address(host, port string, unset int) string {
	at := strconv.Itoa(unset)
	if value, set := e.all[port]; set {
		if n, err := strconv.ParseUint(value, 10, 16); err != nil {
			e.wrong(port, "%q is no port: write a number from 1 to 65535", value)
		} else {
			at = strconv.FormatUint(n, 10)
		}
	}
	return net.JoinHostPort(e.text(host, "0.0.0.0"), at)
}

// pairs are names and values: a:1,b:2, where : is between them. Values may be secret, so the error shows none.
func (e *environment) pairs(name, between string) map[string]string {
	text := e.text(name, "")
	if text == "" {
		return nil
	}
	all := map[string]string{}
	for i, pair := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(pair, between)
		if !ok || key == "" {
			e.wrong(name, "entry %d has no name and value: write NAME%sVALUE, and a comma between several", i+1, between)
			continue
		}
		all[key] = value
	}
	return all
}

// servers are addresses with commas between them.
func (e *environment) servers(name string) (all []string) {
	text, set := e.all[name]
	if !set {
		return nil
	}
	for server := range strings.SplitSeq(text, ",") {
		server = strings.TrimSpace(server)
		if host, port, err := net.SplitHostPort(server); err != nil || host == "" || port == "" {
			e.wrong(name, "%q is no address of a node's gRPC port: write HOST:PORT, such as jeton:7700, and a comma between several", server)
		}
		all = append(all, server)
	}
	return all
}

// refuse notes variables that would change decisions, and those of jeton that are not known: one that is misspelled would too.
func (e *environment) refuse() {
	for _, r := range refused {
		if value, set := e.all[r.name]; set && r.asks(value) {
			e.wrong(r.name, "%s", r.says)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.all)) {
		if _, known := own[name]; !known && cli.IsOwn(name) {
			e.wrong(name, "is not known: did you mean %s?", spelling.Nearest(name, ownNames()))
		}
	}
}
