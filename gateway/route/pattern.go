package route

import (
	"fmt"
	"strings"

	"github.com/jeton-dev/jeton/gateway/config"
)

// pattern is a path of a route, read:
//
//	/users/{id}/keys$   segments users, "", keys · slots id at 1 · exact
//
// The segment of a slot is empty, which no literal one is.
type pattern struct {
	segments []string
	slots    []slot
	exact    bool // ends in $: covers nothing below
}

// slot is a {name} of a pattern. Its value is the segment at depth, counted from 0.
type slot struct {
	name  string
	depth int
}

// parsePattern reads what [config.CheckPattern] finds right.
func parsePattern(text string) (pattern, error) {
	if err := config.CheckPattern(text); err != nil {
		return pattern{}, err
	}
	path, exact := strings.CutSuffix(text, "$")
	p := pattern{exact: exact}
	if path == "/" {
		return p, nil
	}
	for depth, segment := range strings.Split(path[1:], "/") {
		if inner, ok := strings.CutPrefix(segment, "{"); ok {
			p.slots = append(p.slots, slot{name: strings.TrimSuffix(inner, "}"), depth: depth})
			segment = ""
		}
		p.segments = append(p.segments, segment)
	}
	return p, nil
}

// checkMethods refuses what no request can have.
func checkMethods(methods []string) error {
	outside := func(c rune) bool { return ('A' > c || c > 'Z') && ('0' > c || c > '9') && c != '-' && c != '_' }
	for i, m := range methods {
		if m == "" || strings.ContainsFunc(m, outside) {
			return fmt.Errorf("methods[%d]: %.64q is not a method: write it in upper case, such as GET", i, m)
		}
	}
	return nil
}
