package agreed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

// by is an entry of an operator at a time.
func by(at int64, verb, object string) *agreed.Entry {
	return &agreed.Entry{At: at, Who: "token ann", From: "10.0.0.7:5331", Node: "a", Verb: verb, Object: object}
}

// What takes effect stands in the audit log once, with its number; what is refused, or changes nothing, does not.
func TestAudit(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(4))
	if len(s.Audit) != 0 {
		t.Errorf("a cluster begins with %+v", s.Audit)
	}
	drain := agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(4)}, By: by(1, "drain", "d")}
	s = done(t, s, drain)
	idle(t, s, drain)
	refused(t, s, agreed.Command{Drain: &agreed.Drain{ID: agreedtest.ID(9)}, By: by(2, "drain", "?")}, agreed.ErrUnknownNode)
	s = done(t, s, agreed.Command{SetLimits: &agreed.SetLimits{Base: 1, Limits: agreed.Document("limits: 2\n")}, By: by(3, "set limits", "version 2")})
	note := agreed.Command{Note: &agreed.Note{Entries: []agreed.Entry{*by(4, "fill", "login user:1"), *by(5, "fill", "login user:1")}}}
	s = done(t, s, note)
	idle(t, s, note) // as when its answer was lost
	for i, want := range []string{"drain d", "set limits version 2", "fill login user:1", "fill login user:1"} {
		e := s.Audit[i]
		if got := e.Verb + " " + e.Object; got != want || e.Number != uint64(i+1) || e.Who != "token ann" || e.From != "10.0.0.7:5331" {
			t.Errorf("entry %d is %+v, want %s", i, e, want)
		}
	}
	if len(s.Audit) != 4 {
		t.Errorf("the log is %+v", s.Audit)
	}
}

// The log is bounded in entries and in bytes, and what programs do a lot does not push out what people did.
func TestAuditIsBounded(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	note := func(e agreed.Entry) { s = done(t, s, agreed.Command{Note: &agreed.Note{Entries: []agreed.Entry{e}}}) }
	note(*by(1, "drain", "first"))
	for i := range agreed.MaxResets + 50 {
		note(*by(int64(i), agreed.VerbReset, "login"))
	}
	if len(s.Audit) != 1+agreed.MaxResets || s.Audit[0].Object != "first" || s.Audit[1].At != 50 || s.Audit[agreed.MaxResets].Number != agreed.MaxResets+51 {
		t.Fatalf("%d entries, the first %+v, then %+v", len(s.Audit), s.Audit[0], s.Audit[1])
	}
	for what, c := range map[string]struct {
		verb  string
		share int
	}{
		"fills": {agreed.VerbFill, agreed.MaxBuckets}, "overrides": {agreed.VerbSetOverride, agreed.MaxBuckets},
		"unset overrides": {agreed.VerbUnsetOverride, agreed.MaxBuckets}, "resets": {agreed.VerbReset, agreed.MaxResets},
		"drains": {"drain", agreed.MaxOthers},
	} {
		var entries []agreed.Entry
		for i := range agreed.MaxEntries + 10 {
			entries = append(entries, *by(int64(1000+i), c.verb, "login"))
		}
		full := done(t, s, agreed.Command{Note: &agreed.Note{Entries: entries}})
		of, before := 0, uint64(0)
		for _, e := range full.Audit {
			if e.Verb == c.verb && e.At >= 1000 {
				of++
			}
			if e.Number <= before {
				t.Errorf("%s: number %d stands behind %d", what, e.Number, before)
			}
			before = e.Number
		}
		if last := full.Audit[len(full.Audit)-1]; of != c.share || last.At != 1000+agreed.MaxEntries+9 {
			t.Errorf("%s: %d are kept, want %d; the last %+v", what, of, c.share, last)
		}
		if c.verb != "drain" && full.Audit[0].Object != "first" {
			t.Errorf("%s push out what another did before them: the first is %+v", what, full.Audit[0])
		}
	}
}

// The texts are bounded too, and a kind with long ones does not push out those of another.
func TestAuditTextsAreBounded(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	long := strings.Repeat("ü", 5000)
	var fills, others []agreed.Entry
	for i := range 600 {
		e := agreed.Entry{At: int64(i), Who: long, From: long, Node: long, Verb: long, Object: long, Detail: long + "\xff"}
		others = append(others, e)
		e.Verb = agreed.VerbFill
		fills = append(fills, e)
	}
	full := s
	for _, entries := range [][]agreed.Entry{others, fills} {
		c := agreed.Command{Note: &agreed.Note{Entries: entries}}
		var err error
		if full, err = c.Apply(full); err != nil {
			t.Fatal(err)
		}
	}
	bytes, most := map[bool]int{}, map[bool]int{true: agreed.MaxBuckets * agreed.MaxTexts, false: agreed.MaxOthers * agreed.MaxTexts}
	for _, e := range full.Audit {
		for _, text := range []string{e.Who, e.From, e.Node, e.Verb, e.Object, e.Detail} {
			bytes[e.Verb == agreed.VerbFill] += len(text)
			if !utf8.ValidString(text) || text != agreed.VerbFill && !strings.HasSuffix(text, "…") {
				t.Fatalf("%q is not a text that was cut", text)
			}
		}
	}
	for fill, most := range most {
		if bytes[fill] > most || bytes[fill] < most-2000 {
			t.Errorf("fills %v: %d bytes are kept, want up to %d", fill, bytes[fill], most)
		}
	}
}

// A snapshot of a release that kept the last thousand entries of whichever kind is taken over, and has room again with the next entry.
func TestAuditOfAnEarlierRelease(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	for i := range 1000 {
		e := *by(int64(i), agreed.VerbFill, "login")
		e.Number = uint64(i + 1)
		s.Audit = append(s.Audit, e)
	}
	next := done(t, s, agreed.Command{Note: &agreed.Note{Entries: []agreed.Entry{*by(5000, "drain", "a")}}})
	last := next.Audit[len(next.Audit)-1]
	if len(next.Audit) != agreed.MaxBuckets+1 || last.Verb != "drain" || last.Number != 1001 || len(s.Audit) != 1000 {
		t.Errorf("%d entries are kept, the last %+v", len(next.Audit), last)
	}
}

// Each version of the limits is kept with who and when, within bounds.
func TestHistory(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	set := func(text string, at int64) {
		t.Helper()
		e := by(at, "set limits", "")
		e.Detail = "what " + text
		s = done(t, s, agreed.Command{SetLimits: &agreed.SetLimits{Base: s.LimitsVersion, Limits: agreed.Document(text)}, By: e})
	}
	set("two", 2)
	set("three", 3)
	for version, want := range map[uint64]string{1: "limits: {}\n", 2: "two", 3: "three"} {
		e, err := s.Edition(version)
		if err != nil || string(e.Limits) != want || e.Version != version || version > 1 && (e.At != int64(version) || e.Who != "token ann" || e.Detail != "what "+want) {
			t.Errorf("version %d is %+v: %v", version, e, err)
		}
	}
	for _, version := range []uint64{0, 4} {
		if e, err := s.Edition(version); !errors.Is(err, agreed.ErrUnknownVersion) {
			t.Errorf("version %d is %+v: %v", version, e, err)
		}
	}
	for i := range 2 * agreed.MaxEditions {
		set(fmt.Sprint("many ", i), 5)
	}
	if len(s.History) != agreed.MaxEditions || s.History[0].Version != s.LimitsVersion-agreed.MaxEditions+1 {
		t.Errorf("%d versions are kept, from %d on, and %d is in force", len(s.History), s.History[0].Version, s.LimitsVersion)
	}
	if _, err := s.Edition(3); !errors.Is(err, agreed.ErrUnknownVersion) || !strings.Contains(err.Error(), "it has 24 to 43") {
		t.Errorf("an old version: %v", err)
	}
	half := strings.Repeat("x", agreed.MaxHistory/2)
	for i := range 4 {
		set(fmt.Sprint(i, half[1:]), 6)
	}
	last := s.LimitsVersion
	if len(s.History) != 3 || s.History[0].Version != last-2 || len(s.History[2].Limits) != 0 {
		t.Errorf("%d large versions are kept", len(s.History))
	}
	set(half+half+half, 7) // one alone that is larger than all may be: of a release without the bound
	set("small", 8)
	if len(s.History) != 1 || s.History[0].Version != s.LimitsVersion {
		t.Errorf("%d versions are kept", len(s.History))
	}
}

// A state of a release that kept neither is read, and its limits are the first in the history.
func TestStateWithoutHistory(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(agreedtest.JSON(t, s)), &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, "history")
	delete(fields, "audit")
	old := &agreed.State{}
	if err := json.Unmarshal([]byte(agreedtest.JSON(t, fields)), old); err != nil {
		t.Fatal(err)
	}
	if e, err := old.Edition(1); err != nil || string(e.Limits) != string(s.Limits) {
		t.Errorf("the version in force is %+v: %v", e, err)
	}
	if _, err := old.Edition(2); !errors.Is(err, agreed.ErrUnknownVersion) {
		t.Errorf("another one: %v", err)
	}
	next := done(t, old, agreed.Command{SetLimits: &agreed.SetLimits{Base: 1, Limits: agreed.Document("two")}})
	want := []agreed.Edition{{Version: 1, Limits: s.Limits}, {Version: 2}}
	if !reflect.DeepEqual(next.History, want) || len(next.Audit) != 0 {
		t.Errorf("the history is %+v, want %+v", next.History, want)
	}
}
