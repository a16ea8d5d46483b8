package owner

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"strconv"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// The tests of this file hold the model itself against something simpler: a dump of the whole state by reflection, which
// includes every field that is added later.

// dump writes down everything that a world holds, but for what it shares with all others and its scratch memory.
func dump(dst []byte, v reflect.Value) []byte {
	if v.Kind() == reflect.Slice && v.Len() == 0 || v.Kind() != reflect.Struct && v.IsZero() {
		return append(dst, " 0"...)
	}
	switch v.Kind() {
	case reflect.Bool:
		return append(dst, " true"...)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(append(dst, ' '), v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(append(dst, ' '), v.Uint(), 10)
	case reflect.String:
		return append(append(dst, ' '), v.String()...)
	case reflect.Pointer, reflect.Interface:
		switch v.Type() {
		case reflect.TypeFor[*company](), reflect.TypeFor[*Config](), reflect.TypeFor[*limit.Rule]():
			return dst
		}
		return dump(append(dst, " &"...), v.Elem())
	case reflect.Struct:
		dst = append(dst, " {"...)
		for i := range v.NumField() {
			if v.Type() != reflect.TypeFor[player]() || v.Type().Field(i).Name != "cache" {
				dst = dump(dst, v.Field(i))
			}
		}
		return append(dst, '}')
	case reflect.Slice, reflect.Array:
		dst = append(dst, " ["...)
		for i := range v.Len() {
			dst = dump(dst, v.Index(i))
		}
		return append(dst, ']')
	default:
		panic("the model holds a " + v.Kind().String())
	}
}

func (w *world) dump() string {
	for i := range w.team() {
		if c := w.players[i].overflow; c != nil {
			c.items, c.done = c.waiting(), 0 // what has left the queue is no part of the state
		}
	}
	return string(dump(nil, reflect.ValueOf(w).Elem()))
}

// small are settings that are so small that they can be explored without any reduction.
var small = []setting{
	{name: "late messages, restarts", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {}}, epsMax: 9, restarts: 2},
	{name: "patience", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {}}, patience: 1},
	{name: "reserving ahead", capacity: 2, checks: [owners][]int64{{1, 1}, {}}, epsMax: 1, busy: true},
	{name: "a sweep", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {}}, epsMax: 1, sweeps: 1},
	{name: "receipts", capacity: 2, ticks: 1, checks: [owners][]int64{{2, 2}, {}}, epsMax: 1, returns: 2},
	{name: "two clocks", capacity: 2, checks: [owners][]int64{{2}, {1}}, epsMax: 1, clock: [owners]int64{0, 1}},
	{name: "a lost disk", capacity: 2, checks: [owners][]int64{{2}, {1}}, epsMax: 1, losses: 1},
	{name: "checks", capacity: 2, checks: [owners][]int64{{1}, {1}}, epsMax: 1},
	{name: "time", capacity: 2, ticks: 1, checks: [owners][]int64{{2}, {1}}, epsMax: 1},
	{name: "a reset", capacity: 2, checks: [owners][]int64{{2}, {}}, epsMax: 1, resets: 1},
	{name: "other replicas", capacity: 2, checks: [owners][]int64{{2}, {}}, epsMax: 1, change: change{from: 0b0111, to: 0b1011, atOnce: true}},
	{name: "other replicas, step by step", capacity: 2, epsMax: 1, opening: spentByTwo, change: change{from: 0b0111, to: 0b1011, failures: 1}},
}

// A copy is the same and shares nothing that changes, whatever was in its memory before: nothing that happens to it
// shows in the world that it was made of.
func TestModelCopies(t *testing.T) {
	for _, s := range small {
		t.Run(s.name, func(t *testing.T) {
			var enc encoder
			used, copies := &world{}, 0
			x := &exploration{digest: enc.digest}
			x.visit = func(w *world, _ []event) {
				if copies++; copies > 500 {
					return
				}
				before := w.dump()
				for _, e := range w.events(nil) {
					w.copyTo(used)
					if got := used.dump(); got != before {
						t.Fatalf("the copy of\n%s\nis\n%s", before, got)
					}
					used.apply(e)
				}
				if after := w.dump(); after != before {
					t.Fatalf("what happened to a copy made\n%s\nof\n%s", after, before)
				}
			}
			x.from(newWorld(&s))
		})
	}
}

// The model takes states for the same that differ only in what cannot matter. It must reach everything all the same that
// is reached when no two states are taken for the same: every history, at every time.
func TestModelReductionLosesNothing(t *testing.T) {
	seed := maphash.MakeSeed()
	for i, s := range small {
		if i >= 5 && !largeSettings {
			t.Logf("left out, too large for the race detector: %s", s.name)
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			histories := func(digest func(*world) uint64) (map[string]bool, int) {
				reached := map[string]bool{}
				x := &exploration{digest: digest}
				x.visit = func(w *world, _ []event) {
					var e encoder
					e.history(&w.history)
					reached[fmt.Sprint(w.now, w.left, e.buf)] = true
				}
				if broken := x.from(newWorld(&s)); broken != "" {
					t.Fatal(broken)
				}
				return reached, len(x.seen)
			}
			var enc encoder
			reduced, some := histories(enc.digest)
			whole, all := histories(func(w *world) uint64 { return maphash.String(seed, w.dump()) })
			for h := range whole {
				if !reduced[h] {
					t.Fatalf("the reduced model does not reach %s", h)
				}
			}
			if len(reduced) != len(whole) {
				t.Errorf("%d histories, and %d without reduction", len(reduced), len(whole))
			}
			t.Logf("%d histories in %d states, of which the reduced model looks at %d", len(whole), all, some)
		})
	}
}
