package descriptors_test

import (
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// Descriptors that a careless encoding would take for one another have different keys.
func TestKeysDiffer(t *testing.T) {
	type of struct {
		domain  string
		entries []descriptors.Entry
	}
	long := strings.Repeat("x", limit.MaxKey)
	all := []of{
		{"d", nil},
		{"d", []descriptors.Entry{{"a", "b"}}},
		{"d|a=b", nil},
		{"d", []descriptors.Entry{{"a", ""}, {"b", ""}}},
		{"d", []descriptors.Entry{{"a", "|b="}}},
		{"d", []descriptors.Entry{{"a=", ""}}},
		{"d", []descriptors.Entry{{"a", "="}}},
		{"d", []descriptors.Entry{{`a\`, ""}}},
		{"d", []descriptors.Entry{{"a", `\`}}},
		{"d", []descriptors.Entry{{"a", "~b"}}},
		{"d", []descriptors.Entry{{"a", "#b"}}},
		{"d", []descriptors.Entry{{"a_b", "c"}}},
		{"d", []descriptors.Entry{{"a", "b_c"}}},
		{"d", []descriptors.Entry{{"a", "\x00"}}},
		{"d", []descriptors.Entry{{"a", "\xff"}}},
		{"d", []descriptors.Entry{{"a", "\xfe"}}},
		{"d", []descriptors.Entry{{"a", "\ufffd"}}},
		{"d", []descriptors.Entry{{"a", long}}},
		{"d", []descriptors.Entry{{"a", long + "x"}}},
		{"d", []descriptors.Entry{{"a", long}, {"b", ""}}},
		{"d", []descriptors.Entry{{"a", strings.Repeat(`\`, 400)}}},
	}
	seen := map[string]int{}
	for i, o := range all {
		key := descriptors.Key(descriptors.AppendKey(nil, o.domain, o.entries, nil))
		if err := limit.ValidateKey(key); err != nil {
			t.Errorf("%+v has the key %q: %s", o, key, err)
		}
		if before, ok := seen[key]; ok {
			t.Errorf("%+v and %+v have the key %q", o, all[before], key)
		}
		seen[key] = i
		if again := descriptors.Key(descriptors.AppendKey(nil, o.domain, o.entries, nil)); again != key {
			t.Errorf("%+v has the keys %q and %q", o, key, again)
		}
	}
}

// A long key begins as people know it.
func TestLongKey(t *testing.T) {
	key := descriptors.Key(descriptors.AppendKey(nil, "shop", []descriptors.Entry{{"path", strings.Repeat("/a", 300)}}, nil))
	begin, digest, _ := strings.Cut(key, "#")
	if !strings.HasPrefix(begin, "shop|path=/a/a") || len(begin) != 128 || len(digest) != 64 {
		t.Errorf("got %q", key)
	}
}

// FuzzKey holds that keys are valid, and that of two descriptors that differ the keys do, too.
func FuzzKey(f *testing.F) {
	f.Add("d", "a", "b", "d", "a", "c")
	f.Add("d", "a=b|c", "d", "d", "a", "b|c=d")
	f.Add("d", "a\xff", "", "d", "a", "\xff")
	f.Add(`d\`, "|", "~#", "d", `\|`, "")
	f.Fuzz(func(t *testing.T, domain1, key1, value1, domain2, key2, value2 string) {
		one := descriptors.Key(descriptors.AppendKey(nil, domain1, []descriptors.Entry{{key1, value1}}, nil))
		two := descriptors.Key(descriptors.AppendKey(nil, domain2, []descriptors.Entry{{key2, value2}}, nil))
		if err := limit.ValidateKey(one); err != nil {
			t.Fatalf("%q: %s", one, err)
		}
		if same := domain1 == domain2 && key1 == key2 && value1 == value2; (one == two) != same {
			t.Fatalf("%q and %q", one, two)
		}
	})
}
