package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An object is a line of JSON.
type object map[string]json.RawMessage

// parse reads a line; what it returns is valid until the next call.
func (o *object) parse(text []byte) (line, error) {
	if *o == nil {
		*o = object{}
	}
	clear(*o)
	if err := json.Unmarshal(text, o); err != nil {
		return nil, &lineError{unreadable, "is no JSON object: " + err.Error()}
	}
	return *o, nil
}

// field is that of a name, which may have dots: user.id is the field of that name, or else the field id of the object user.
func (o object) field(name string) (value string, ok bool, err error) {
	raw, ok := o.find(name)
	if !ok {
		return "", false, nil
	}
	switch raw[0] {
	case '"':
		err = json.Unmarshal(raw, &value)
		return value, value != "" && err == nil, nil
	case '{', '[':
		return "", false, &lineError{unreadable, fmt.Sprintf("%s: is an object or a list: name a field of it, such as %s.id", name, name)}
	case 'n': // null
		return "", false, nil
	}
	return string(raw), true, nil
}

// find is the value of a name.
func (o object) find(name string) (json.RawMessage, bool) {
	if raw, ok := o[name]; ok {
		return raw, true
	}
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		raw, ok := o[name[:i]]
		if !ok || raw[0] != '{' {
			continue
		}
		var inner object
		if json.Unmarshal(raw, &inner) != nil {
			continue
		}
		if found, ok := inner.find(name[i+1:]); ok {
			return found, true
		}
	}
	return nil, false
}

// time is that of the first of the names that the line has.
func (o object) time(names []string) (int64, error) {
	for _, name := range names {
		text, ok, err := o.field(name)
		if err != nil {
			return 0, err
		}
		if ok {
			return readTime(text)
		}
	}
	return 0, &lineError{unreadable, fmt.Sprintf("has no field %s: --time names the field with the time; there are %s",
		strings.Join(names, ", "), limit.Quote(strings.Join(o.names(), ", ")))}
}

// likely are names of fields that say who asked.
var likely = []string{"user", "user_id", "client", "client_ip", "remote_addr", "ip", "addr"}

// names are the fields that it has.
func (o object) names() []string {
	names := slices.Sorted(maps.Keys(o))
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// rank is where in likely a name is.
func rank(name string) int {
	if at := slices.Index(likely, name); at >= 0 {
		return at
	}
	return len(likely)
}
