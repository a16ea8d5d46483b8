package level

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"testing"
)

type inner struct {
	Plain string
	New   *int `level:"3"`
}

type kind string

type outer struct {
	Plain  []byte
	Inner  inner
	Some   []inner
	Named  map[string]*inner
	Tagged int `level:"2"`
	Any    any
	Kind   kind `levels:"2=second 3=third"`
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
		"an old value":     {&outer{Kind: "first"}, First},
		"a value of 2":     {&outer{Kind: "second"}, 2},
		"a value of 3":     {&outer{Kind: "third", Tagged: 1}, 3},
		"a slice of those": {[]*outer{{}, {Tagged: 5}}, 2},
	} {
		if got := Needed(c.v); got != c.want {
			t.Errorf("%s takes level %d, want %d", what, got, c.want)
		}
	}
}

// A tag that is no level is a mistake of the program, not of its user.
func TestTagIsALevel(t *testing.T) {
	for _, field := range []reflect.StructField{{Name: "A", Tag: `level:"two"`}, {Name: "A", Tag: `level:"1"`}, {Name: "A", Tag: `level:""`}, {Name: "A", Tag: `levels:"two=v"`}, {Name: "A", Tag: `levels:"1=v"`}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is taken", field.Tag)
				}
			}()
			Of(field)
			OfValue(field, "v")
		}()
	}
}

// A release knows two levels, and the formats of data directories that are on disks never become those of other levels.
func TestKnown(t *testing.T) {
	known := Known()
	if known.Newest != known.Oldest+1 || known.Oldest < First {
		t.Errorf("it knows %s", known)
	}
	if !known.Has(known.Oldest) || !known.Has(known.Newest) || known.Has(known.Newest+1) || known.Has(known.Oldest-1) {
		t.Errorf("of %s it has the wrong ones", known)
	}
	if first, second := Format(1), Format(2); first != 3 || second != 4 {
		t.Errorf("levels 1 and 2 have formats %d and %d", first, second)
	}
	for r, want := range map[Range]string{{1, 1}: "1", {1, 2}: "1 to 2"} {
		if r.String() != want {
			t.Errorf("%+v is written %s, want %s", r, r, want)
		}
	}
}

// The table of this package and that of the page for operators have a row for each level, with its format.
func TestTables(t *testing.T) {
	for file, row := range map[string]*regexp.Regexp{
		"level.go":              regexp.MustCompile(`(?m)^//\t(\d+) +format (\d+) `),
		"../../docs/upgrade.md": regexp.MustCompile(`(?m)^\| (\d+) \|.*\| format (\d+) \|$`),
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rows, want []string
		for _, cells := range row.FindAllStringSubmatch(string(text), -1) {
			rows = append(rows, cells[1]+" "+cells[2])
		}
		for l := First; l <= Known().Newest; l++ {
			want = append(want, fmt.Sprint(l, Format(l)))
		}
		if !reflect.DeepEqual(rows, want) {
			t.Errorf("%s has the levels and formats %q, want %q", file, rows, want)
		}
	}
}
