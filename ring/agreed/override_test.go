package agreed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
)

func setting(key, says string, at, until int64) agreed.Command {
	return agreed.Command{SetOverride: &agreed.SetOverride{agreed.Override{Limit: "login", Key: key, Says: says, At: at, Until: until, Who: "ann"}}}
}

func unsetting(key string, at int64) agreed.Command {
	return agreed.Command{UnsetOverride: &agreed.UnsetOverride{"login", key, at}}
}

func TestOverrideCommands(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	idle(t, s, unsetting("k", 1))
	s = done(t, s, setting("k", "deny", 5, 0))
	idle(t, s, setting("k", "deny", 5, 0)) // once more
	refused(t, s, setting("k", "allow", 4, 0), agreed.ErrStale)
	refused(t, s, unsetting("k", 4), agreed.ErrStale)
	for _, bad := range []agreed.Command{
		setting("", "deny", 5, 0), setting("k", "", 5, 0), setting(strings.Repeat("k", 1100), "deny", 5, 0),
		{SetOverride: &agreed.SetOverride{agreed.Override{Key: "k", Says: "deny"}}},
	} {
		refused(t, s, bad, agreed.ErrInvalid)
	}
	s = done(t, s, setting("k", "capacity: 5", 6, 100))
	if o, ok := s.Overrides.Find(agreed.OverrideKey{"login", "k"}); !ok || o.Says != "capacity: 5" || s.Overrides.Len() != 1 {
		t.Errorf("%+v, %v", o, ok)
	}
	s = done(t, s, unsetting("k", 7))
	if s.Overrides.Len() != 0 || len(s.Overrides.All()) != 0 || s.Overrides != nil {
		t.Errorf("%+v are left", s.Overrides.All())
	}
}

// Any changes leave what a plain map has, an older state stays as it is, and EachChange tells just what differs.
func TestOverridesAreAMap(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 2))
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	model := map[agreed.OverrideKey]agreed.Override{}
	for at := int64(1); at < 600; at++ {
		key := fmt.Sprint("k", random.IntN(40))
		c := setting(key, fmt.Sprint("capacity: ", random.IntN(5)), at, 0)
		if random.IntN(3) == 0 {
			c = unsetting(key, at)
			delete(model, agreed.OverrideKey{"login", key})
		} else {
			model[agreed.OverrideKey{"login", key}] = c.SetOverride.Override
		}
		before := s.Overrides
		was := agreedtest.JSON(t, before.All())
		next, err := c.Apply(s)
		if err != nil {
			t.Fatal(err)
		}
		if agreedtest.JSON(t, before.All()) != was {
			t.Fatalf("seed %d: an older state has changed", seed)
		}
		changed := map[agreed.OverrideKey]agreed.Override{}
		for _, o := range before.All() {
			changed[agreed.OverrideKey{o.Limit, o.Key}] = o
		}
		calls := 0
		next.Overrides.EachChange(before, func(k agreed.OverrideKey, now *agreed.Override) {
			calls++
			if delete(changed, k); now != nil {
				changed[k] = *now
			}
		})
		if !reflect.DeepEqual(changed, model) || calls > 1 || next.Overrides.Len() != len(model) {
			t.Fatalf("seed %d: %d changes lead to %v, want %v", seed, calls, changed, model)
		}
		s = next
	}
	var back agreed.State
	if err := json.Unmarshal([]byte(agreedtest.JSON(t, s)), &back); err != nil || !reflect.DeepEqual(back.Overrides.All(), s.Overrides.All()) ||
		back.Overrides.Len() != len(model) {
		t.Errorf("seed %d: a snapshot has %+v: %v", seed, back.Overrides.All(), err)
	}
}

// There are at most so many; those that have ended make room.
func TestOverridesAreBounded(t *testing.T) {
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	all := make([]agreed.Override, agreed.MaxOverrides)
	for i := range all {
		all[i] = agreed.Override{Limit: "login", Key: fmt.Sprint("k", i), Says: "deny", At: 1}
	}
	all[7].Until = 50
	full := *s
	full.Overrides = &agreed.Overrides{}
	if err := json.Unmarshal([]byte(agreedtest.JSON(t, all)), full.Overrides); err != nil || full.Overrides.Len() != agreed.MaxOverrides {
		t.Fatal(err)
	}
	c := setting("one more", "deny", 40, 0)
	if _, err := c.Apply(&full); err == nil || !strings.Contains(err.Error(), "there are 100000 overrides, and there may be no more: unset some") {
		t.Errorf("one more: %v", err)
	}
	c = setting("k9", "allow", 40, 0)
	if next, err := c.Apply(&full); err != nil || next.Overrides.Len() != agreed.MaxOverrides {
		t.Errorf("another in the place of one: %v", err)
	}
	c = setting("one more", "deny", 60, 0)
	if next, err := c.Apply(&full); err != nil || next.Overrides.Len() != agreed.MaxOverrides {
		t.Errorf("one has ended: %v", err)
	}
}

// The prefixes of a limit have at most so many lengths; those that have ended make room, and other limits have their own.
func TestLengthsOfPrefixesAreBounded(t *testing.T) {
	of := func(n int) string { return strings.Repeat("p", n) + "*" }
	s := done(t, &agreed.State{}, agreedtest.Found(1))
	for i := range agreed.MaxLengths {
		until := int64(0)
		if i == 6 {
			until = 50
		}
		s = done(t, s, setting(of(i+1), "deny", 1, until))
	}
	var read agreed.State
	if err := json.Unmarshal([]byte(agreedtest.JSON(t, s)), &read); err != nil {
		t.Fatal(err)
	}
	for what, s := range map[string]*agreed.State{"as it grew": s, "of a snapshot": &read} {
		c := setting(of(100), "deny", 40, 0)
		if _, err := c.Apply(s); !errors.Is(err, agreed.ErrTooMany) || !strings.Contains(err.Error(), "the prefixes of the overrides of login have 64 lengths, and may have no more") {
			t.Errorf("%s: one more length: %v", what, err)
		}
		done(t, s, setting("qqqq*", "deny", 40, 0)) // as long as another
		done(t, s, setting("a key", "deny", 40, 0))
		done(t, s, agreed.Command{SetOverride: &agreed.SetOverride{agreed.Override{Limit: "page", Key: of(100), Says: "deny", At: 40}}})
		done(t, done(t, s, unsetting(of(9), 40)), setting(of(100), "deny", 40, 0))
		if next := done(t, s, setting(of(100), "deny", 60, 0)); next.Overrides.Lengths("login") != agreed.MaxLengths {
			t.Errorf("%s: one has ended, and there are %d lengths", what, next.Overrides.Lengths("login"))
		}
	}
	for i := range agreed.MaxLengths {
		s = done(t, s, unsetting(of(i+1), 40))
	}
	if s.Overrides.Lengths("login") != 0 {
		t.Errorf("none is left, and %d lengths", s.Overrides.Lengths("login"))
	}
}
