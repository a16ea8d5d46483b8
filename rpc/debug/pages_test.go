package debug_test

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/debug"
)

// hostile is a text that clears the screen, sets the title, turns the direction of writing, and forges a line.
const hostile = "\x1b[2J\x1b]0;owned\x07\u009b31m\u202e\x9b1m\r\nallowed\tforged\x7f\u2028"

// fill sets every text in v, however deep, and gives every list an entry.
func fill(v reflect.Value, text string, depth int) {
	if depth > 6 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Uint64, reflect.Uint32, reflect.Uint:
		v.Set(reflect.ValueOf(1).Convert(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, depth+1)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(value, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field, text, depth+1)
		}
	default:
	}
}

// Whatever other nodes and callers have put into any field, no page steers a terminal or has a line more for it.
func TestPagesArePlain(t *testing.T) {
	rule, err := limit.Limit{Name: "login", Capacity: 10, Refill: limit.Refill{Tokens: 1, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]func(w io.Writer, text string) error{
		"bucket": func(w io.Writer, text string) error {
			var in limit.Inspection
			fill(reflect.ValueOf(&in).Elem(), text, 0)
			in.Rule = rule
			in.Rule.Name = text
			in.Registers = append(in.Registers, limit.Stored{Node: text, Error: text}, limit.Stored{Node: text, Exists: true})
			return debug.WriteBucket(w, in)
		},
		"ring": func(w io.Writer, text string) error {
			var s cluster.Status
			fill(reflect.ValueOf(&s).Elem(), text, 0)
			s.Partitions = 271
			return debug.WriteStatus(w, &s)
		},
		"ring, no cluster": func(w io.Writer, text string) error { return debug.WriteStatus(w, &cluster.Status{Node: text}) },
		"ring, no majority": func(w io.Writer, text string) error {
			return debug.WriteStatus(w, &cluster.Status{Node: text, Cluster: text})
		},
		"actors": func(w io.Writer, text string) error {
			var o actor.Overview
			fill(reflect.ValueOf(&o).Elem(), text, 0)
			return debug.WriteOverview(w, o)
		},
	}
	for name, write := range pages {
		var good, bad bytes.Buffer
		if err := write(&good, "good"); err != nil || !strings.Contains(good.String(), "good") {
			t.Fatalf("%s: %v\n%s", name, err, good.String())
		}
		if err := write(&bad, hostile); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if at := strings.IndexFunc(bad.String(), func(r rune) bool { return r != '\n' && (!unicode.IsPrint(r) || r == '\uFFFD') }); at >= 0 {
			t.Errorf("%s: %q steers the terminal", name, bad.String()[at:min(at+40, bad.Len())])
		}
		if g, b := strings.Count(good.String(), "\n"), strings.Count(bad.String(), "\n"); g != b {
			t.Errorf("%s: %d lines, and %d with a text that forges some:\n%s", name, g, b, bad.String())
		}
	}
}
