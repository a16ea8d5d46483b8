package level

import (
	"reflect"
	"testing"
)

type inner struct {
	Plain string
	New   *int `level:"3"`
}

type outer struct {
	Plain  []byte
	Inner  inner
	Some   []inner
	Named  map[string]*inner
	Tagged int `level:"2"`
	Any    any
	hidden inner
}

func TestNeeded(t *testing.T) {
	one := 1
	later := inner{New: &one}
	for what, c := range map[string]struct {
		v    any
		want int
	}{
		"nothing":          {nil, First},
		"an empty one":     {outer{}, First},
		"fields of old":    {&outer{Plain: []byte("x"), Inner: inner{Plain: "x"}, Some: []inner{{Plain: "x"}}}, First},
		"a tagged field":   {&outer{Tagged: 1}, 2},
		"one in a struct":  {&outer{Inner: later, Tagged: 1}, 3},
		"one in a slice":   {&outer{Some: []inner{{}, later}}, 3},
		"one in a map":     {&outer{Named: map[string]*inner{"a": nil, "b": &later}}, 3},
		"one in an any":    {&outer{Any: &later}, 3},
		"one that hides":   {&outer{hidden: later}, 3},
		"a nil pointer":    {(*outer)(nil), First},
		"a slice of those": {[]*outer{{}, {Tagged: 5}}, 2},
	} {
		if got := Needed(c.v); got != c.want {
			t.Errorf("%s takes level %d, want %d", what, got, c.want)
		}
	}
}

// A tag that is no level is a mistake of the program, not of its user.
func TestTagIsALevel(t *testing.T) {
	for _, field := range []reflect.StructField{{Name: "A", Tag: `level:"two"`}, {Name: "A", Tag: `level:"1"`}, {Name: "A", Tag: `level:""`}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", field.Tag)
				}
			}()
			Of(field)
		}()
	}
}

// Every level that this release knows has a format of data directories, and none is lower than the one before.
func TestFormats(t *testing.T) {
	known := Known()
	if known.Newest-First+1 != len(formats) {
		t.Fatalf("levels up to %d are known, and %d have a format", known.Newest, len(formats))
	}
	for l := First + 1; l <= known.Newest; l++ {
		if Format(l) < Format(l-1) {
			t.Errorf("level %d has format %d, and level %d has %d", l, Format(l), l-1, Format(l-1))
		}
	}
	if !known.Has(known.Oldest) || !known.Has(known.Newest) || known.Has(known.Newest+1) || known.Has(known.Oldest-1) {
		t.Errorf("of %s it has the wrong ones", known)
	}
	for r, want := range map[Range]string{{1, 1}: "1", {1, 2}: "1 to 2"} {
		if r.String() != want {
			t.Errorf("%+v is written %s, want %s", r, r, want)
		}
	}
}
