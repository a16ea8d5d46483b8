package kuadrant

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// aHold is one of a limit that the request has defined.
func aHold() limit.Hold {
	l := &limit.Limit{Name: "kuadrant-60s", Algorithm: limit.FixedWindow, Capacity: 10, Window: time.Minute, Holds: limit.Holds{Longest: time.Minute, OnExpiry: limit.Free, MaxDebt: limit.NoDebt}}
	return limit.Hold{Key: "ns|00|alice", Granted: 3, Limits: []limit.Held{{Limit: l.Name, Inline: l, Generation: 1, ID: 42}}}
}

// The id of a reservation gives back the reservation, and another text is none.
func TestReservationID(t *testing.T) {
	for _, holds := range [][]limit.Hold{nil, {aHold()}, {aHold(), aHold()}} {
		r := newReservation(holds)
		got, known := readReservation(r.String())
		if !known || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v was read as %+v", r, got)
		}
	}
	if a, b := newReservation(nil).String(), newReservation(nil).String(); a == b {
		t.Errorf("two reservations have the id %s", a)
	}
	right := newReservation([]limit.Hold{aHold()}).String()
	parts := strings.Split(right, ".")
	with := func(at int, text string) string {
		changed := append([]string(nil), parts...)
		changed[at] = text
		return strings.Join(changed, ".")
	}
	for _, wrong := range []string{
		"", "jeton-1", "jeton-1.", right + ".", right[1:], with(0, "jeton-2"), with(1, "-1"), with(1, "0"+parts[1]), with(1, strings.ToUpper(parts[1])), with(1, "zzzzzzzzzzz"), with(1, "zzzzzzzzzzzzzzz"),
		with(2, parts[2][1:]), with(2, strings.ToLower(parts[2])), with(3, parts[3][1:]), with(3, ""), strings.Repeat(right+".", 20), strings.Repeat("jeton-1.", 1<<20),
	} {
		if _, known := readReservation(wrong); known {
			t.Errorf("%.80s was read", wrong)
		}
	}
}

// The longest id that a door makes is read: as many holds as one request has, of the longest keys.
func TestLongestReservationID(t *testing.T) {
	h := aHold()
	h.Key = strings.Repeat("k", limit.MaxKey)
	for len(h.Limits) < limit.MaxLimits {
		h.Limits = append(h.Limits, h.Limits[0])
	}
	var holds []limit.Hold
	for range limit.MaxAll {
		holds = append(holds, h)
	}
	if _, known := readReservation(newReservation(holds).String()); !known {
		t.Error("an id is too long to be read")
	}
}

// An id from anywhere is read or not, and what is read says the same again.
func FuzzReservationID(f *testing.F) {
	f.Add("")
	f.Add("jeton-1.mhyz3k2a.ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	f.Add(newReservation(nil).String())
	f.Add(newReservation([]limit.Hold{aHold()}).String())
	f.Add(newReservation([]limit.Hold{aHold(), aHold()}).String())
	f.Fuzz(func(t *testing.T, id string) {
		r, known := readReservation(id)
		if !known {
			return
		}
		again, known := readReservation(r.String())
		if !known || !reflect.DeepEqual(again, r) {
			t.Errorf("%q is %+v, and again %+v", id, r, again)
		}
	})
}
