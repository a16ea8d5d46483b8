package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Fields say where in a line is what a check needs. The zero value means the defaults.
type Fields struct {
	// Time are the names of the field with the time, of which the first counts that a line has. Empty means time, timestamp, ts
	// or @timestamp. A line of an access log has its time at one place.
	Time []string
	// Key is a template of the key, such as {user}:{path}. Empty means {key}, or {addr} in an access log.
	Key string
	// Cost is the name of the field with the cost, or a number. Empty means cost. A line without the field costs 1.
	Cost string
	// Plan is the name of the field with the plan. Empty means plan. A line without the field, or one of limits without plans, has none.
	Plan string
}

// defaultTimes are the names that loggers use.
var defaultTimes = []string{"time", "timestamp", "ts", "@timestamp"}

// A reader makes checks of lines.
type reader struct {
	fields Fields
	key    template
	keys   *intern
	tally  *Tally
	plans  []string // that any candidate has, sorted

	object object // of the line before
	access access // of the line before
	clock  stamp  // of the line before
	room   []byte // for a key
}

var (
	keyOfObject = template{{name: "key"}}
	keyOfAccess = template{{name: "addr"}}
)

// parse makes a check of one line, which is not empty. Its errors are *lineError.
func (r *reader) parse(text []byte) (c check, err error) {
	var l line
	key := r.key
	if text[0] == '{' {
		if l, err = r.object.parse(text); key == nil {
			key = keyOfObject
		}
	} else {
		if l, err = r.access.parse(text, &r.clock); key == nil {
			key = keyOfAccess
		}
	}
	if err != nil {
		return c, err
	}
	times := r.fields.Time
	if len(times) == 0 {
		times = defaultTimes
	}
	if c.at, err = l.time(times); err != nil {
		return c, err
	}
	if c.cost, err = r.cost(l); err != nil {
		return c, err
	}
	if c.plan, err = r.plan(l); err != nil {
		return c, err
	}
	if r.room, err = key.appendKey(r.room[:0], l); err != nil {
		return c, err
	}
	if err := limit.ValidateKey(string(r.room)); err != nil {
		if wrong, is := errors.AsType[*limit.FieldError](err); is && len(r.room) == 0 {
			return c, &lineError{withoutKey, "key: " + wrong.Problem}
		}
		return c, &lineError{unreadable, err.Error()}
	}
	c.key = r.keys.id(r.room)
	return c, nil
}

// cost is that of a line.
func (r *reader) cost(l line) (int64, error) {
	name := r.fields.Cost
	if name == "" {
		name = "cost"
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil {
		return n, nil
	}
	text, ok, err := l.field(name)
	if err != nil || !ok {
		return 1, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, &lineError{unreadable, fmt.Sprintf("%s: %s is no cost: use a whole number of tokens, 0 or more", name, limit.Quote(text))}
	}
	return n, nil
}

// plan is that of a line.
func (r *reader) plan(l line) (int, error) {
	if len(r.plans) == 0 {
		return 0, nil
	}
	name := cmp.Or(r.fields.Plan, "plan")
	text, ok, err := l.field(name)
	if err != nil || !ok || text == "" {
		return 0, err
	}
	at, known := slices.BinarySearch(r.plans, text)
	if !known {
		return 0, &lineError{unreadable, fmt.Sprintf("%s: no limit has a plan %s: they have %s", name, limit.Quote(text), strings.Join(r.plans, ", "))}
	}
	return at + 1, nil
}

// check says what is wrong with the fields before any line is read.
func (f *Fields) check() error {
	if n, err := strconv.ParseInt(f.Cost, 10, 64); err == nil && n < 1 {
		return fmt.Errorf("--cost: %d: use 1 or more tokens, or the name of a field", n)
	}
	for _, name := range f.Time {
		if strings.TrimSpace(name) == "" {
			return errors.New("--time: an empty name: name the field with the time, such as ts")
		}
	}
	return nil
}
