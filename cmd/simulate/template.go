package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A template makes a key of the fields of a line: "{user}:{path}".
type template []part

// A part is a text, or a field if name is not empty.
type part struct{ text, name string }

// parseTemplate reads a template; the empty one is that of no template at all.
func parseTemplate(text string) (t template, err error) {
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "{")
		if strings.Contains(before, "}") {
			return nil, fmt.Errorf("--key: %q: a } has no {: write {user}", text)
		}
		if before != "" {
			t = append(t, part{text: before})
		}
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "}")
		if name = strings.TrimSpace(name); !closed || name == "" || strings.Contains(name, "{") {
			return nil, fmt.Errorf("--key: %q: a { has no name and } behind it: write {user}", text)
		}
		t = append(t, part{name: name})
		rest = behind
	}
	return t, nil
}

// appendKey appends the key of a line.
func (t template) appendKey(key []byte, l line) ([]byte, error) {
	for _, p := range t {
		if p.name == "" {
			key = append(key, p.text...)
			continue
		}
		value, ok, err := l.field(p.name)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, &lineError{withoutKey, fmt.Sprintf("has no %s for the key: --key names the fields, such as --key '{%s}'", p.name, suggest(l))}
		}
		key = append(key, value...)
	}
	return key, nil
}

// suggest is a field that a line has. It is pasted into a shell, and the log may be of strangers: so only a name that means nothing there.
func suggest(l line) string {
	names := l.names()
	if i := slices.IndexFunc(names, safe.MatchString); i >= 0 {
		return names[i]
	}
	return "user"
}

// safe are names that a shell and a terminal take literally.
var safe = regexp.MustCompile(`^[A-Za-z0-9_.@-]{1,64}$`)
