package agreed_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

// How far limits reached before they were made shorter is kept until that is past: the longest of several, to the last of their ends.
func TestEarlierNumbers(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	set := func(at int64, shorter map[string]int64) {
		t.Helper()
		text := agreed.Document{byte('a' + s.LimitsVersion)}
		s = done(t, s, agreed.Command{SetLimits: &agreed.SetLimits{Base: s.LimitsVersion, Limits: text, Shorter: shorter, At: at}})
	}
	want := func(earlier map[string]agreed.Earlier) {
		t.Helper()
		if len(s.Earlier) != len(earlier) || len(earlier) > 0 && !reflect.DeepEqual(s.Earlier, earlier) {
			t.Errorf("%+v is kept, want %+v", s.Earlier, earlier)
		}
	}
	set(10, nil)
	want(nil)
	set(20, map[string]int64{"a": 500, "b": 40})
	before := s
	set(30, map[string]int64{"a": 100})
	want(map[string]agreed.Earlier{"a": {500, 20 + 500 + agreed.Heard}, "b": {40, 20 + 40 + agreed.Heard}})
	set(100, map[string]int64{"b": 60})
	want(map[string]agreed.Earlier{"a": {500, 20 + 500 + agreed.Heard}, "b": {60, 100 + 60 + agreed.Heard}})
	set(20+500+agreed.Heard, nil)
	want(nil)
	if before.Earlier["b"].Lead != 40 {
		t.Error("a state that was handed out has changed")
	}
	for _, wrong := range []agreed.SetLimits{
		{Shorter: map[string]int64{"": 1}, At: 1},
		{Shorter: map[string]int64{"a": 0}, At: 1},
		{Shorter: map[string]int64{"a": 1}},
		{Shorter: map[string]int64{"a": math.MaxInt64}, At: 1},
		{Shorter: map[string]int64{"a": 1}, At: math.MaxInt64},
		{Longer: map[string]int64{"a": 1}, At: math.MaxInt64},
	} {
		wrong.Base, wrong.Limits = s.LimitsVersion, agreed.Document("x")
		if _, err := (&agreed.Command{SetLimits: &wrong}).Apply(s); !errors.Is(err, agreed.ErrInvalid) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
}

// How far an override has let its limit be reserved is kept when it is gone, or another one stands in its place, from that time or its end on.
func TestEarlierOverrides(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	set := func(key string, at, until, reach int64) agreed.Command {
		c := setting(key, "capacity: 5", at, until)
		c.SetOverride.Reach = reach
		return c
	}
	for what, step := range map[string]struct {
		last []agreed.Command
		want agreed.Earlier
	}{
		"stands":           {nil, agreed.Earlier{}},
		"unset":            {[]agreed.Command{unsetting("k", 50)}, agreed.Earlier{Lead: 500, Until: 50 + 500 + agreed.Heard}},
		"replaced":         {[]agreed.Command{set("k", 60, 0, 7)}, agreed.Earlier{Lead: 500, Until: 60 + 500 + agreed.Heard}},
		"replaced, denies": {[]agreed.Command{setting("k", "deny", 60, 0)}, agreed.Earlier{Lead: 500, Until: 60 + 500 + agreed.Heard}},
		"both gone": {
			[]agreed.Command{set("k", 60, 0, 7000), unsetting("k", 70)}, agreed.Earlier{Lead: 7000, Until: 70 + 7000 + agreed.Heard},
		},
		"ended, then unset":        {[]agreed.Command{set("k", 60, 80, 7000), unsetting("k", 90)}, agreed.Earlier{Lead: 7000, Until: 80 + 7000 + agreed.Heard}},
		"unset long after its end": {[]agreed.Command{set("k", 60, 80, 7000), unsetting("k", 80+7000+agreed.Heard)}, agreed.Earlier{}},
		"longer by the document": {
			[]agreed.Command{
				{SetLimits: &agreed.SetLimits{Base: s.LimitsVersion, Limits: agreed.Document("x"), At: 30, Longer: map[string]int64{"login": 900}}}, unsetting("k", 50),
			}, agreed.Earlier{Lead: 900, Until: 50 + 900 + agreed.Heard},
		},
		"longer than that": {
			[]agreed.Command{
				{SetLimits: &agreed.SetLimits{Base: s.LimitsVersion, Limits: agreed.Document("x"), At: 30, Longer: map[string]int64{"login": 9, "other": 900}}},
				unsetting("k", 50),
			}, agreed.Earlier{Lead: 500, Until: 50 + 500 + agreed.Heard},
		},
	} {
		is := done(t, s, set("k", 20, 0, 500))
		idle(t, is, set("k", 20, 0, 500))
		before := agreedtest.JSON(t, is)
		last := is
		for _, c := range step.last {
			last = done(t, last, c)
		}
		if got := last.Earlier["login"]; got != step.want {
			t.Errorf("%s: %+v is kept, want %+v", what, got, step.want)
		}
		if agreedtest.JSON(t, is) != before {
			t.Errorf("%s: a state that was handed out has changed", what)
		}
	}
	for _, wrong := range []agreed.Command{set("k", 20, 0, -1), set("k", 20, 0, math.MaxInt64), set("k", 0, 0, 5), set("k", math.MaxInt64, 0, 5)} {
		refused(t, s, wrong, agreed.ErrInvalid)
	}
}

// One that has ended, and makes room for another, is no more forgotten than one that is unset.
func TestEndedOverridesLeaveTheirReach(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	first := setting("k", "capacity: 5", 20, 30)
	first.SetOverride.Reach = 500
	s = done(t, s, first)
	added := 0
	for s.Overrides.Len() > added { // until one falls into its part, and it is removed
		s = done(t, s, setting(fmt.Sprint("other", added), "deny", 40, 0))
		added++
	}
	if want := (agreed.Earlier{Lead: 500, Until: 30 + 500 + agreed.Heard}); s.Earlier["login"] != want {
		t.Errorf("%+v is kept, want %+v", s.Earlier, want)
	}
}

// Commands of a release that noted no reach do what they did: nothing is kept, and nothing else changes.
func TestOverridesWithoutReach(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	earlier := map[string]agreed.Earlier{"login": {Lead: 5, Until: 7}}
	s.Earlier = earlier
	for _, text := range []string{
		`{"set_override":{"limit":"login","key":"k","says":"capacity: 5","at":20,"who":"ann"}}`,
		`{"set_override":{"limit":"login","key":"k","says":"deny","at":30,"until":35}}`,
		`{"unset_override":{"limit":"login","key":"k","at":40}}`,
	} {
		c, err := agreed.DecodeCommand([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if s = done(t, s, c); !reflect.DeepEqual(s.Earlier, earlier) {
			t.Errorf("%s leaves %+v", text, s.Earlier)
		}
	}
}
