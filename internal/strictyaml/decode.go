package strictyaml

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxValues is how many values a document may have: aliases may multiply what is written once.
const maxValues = 250_000

// A Decoder fills a Go value from a document and goes on after a problem. Structs, their fields named by the tag yaml, maps from
// strings, slices, pointers, strings, bools, ints, floats and [encoding.TextUnmarshaler] are read. A field with the tag zero must not
// be 0; the tag says what to write instead.
//
// Types say how they are written by optional interfaces: [Former], [Shorthand], [Numeric].
type Decoder struct {
	// Read, if not nil, is called with a pointer to each TextUnmarshaler that was filled, such as the name of a file to read. Its
	// error is a problem of the field.
	Read func(text encoding.TextUnmarshaler) error

	// Lines is where each field stands, by path.
	Lines map[string]int
	// Problems are all that were found, in the order of the document.
	Problems []*Problem

	values int
}

// A Former is a TextUnmarshaler that describes its form, as in "a duration with its unit, such as 2s".
type Former interface{ Form() string }

// A Shorthand is a struct that may be written as the value of one of its fields, by the field's Go name.
type Shorthand interface{ ShorthandFor() string }

// A Numeric is a string that may be written as a number, without quotes.
type Numeric interface{ Numeric() }

// Decode fills v, which is a pointer, from a node of [Root].
func (d *Decoder) Decode(root *yaml.Node, v any) {
	d.Lines = map[string]int{}
	d.value(root, "", reflect.ValueOf(v).Elem())
}

// GaveUp reports whether the document has so many values that it was not read to its end.
func (d *Decoder) GaveUp() bool { return d.values > maxValues }

func (d *Decoder) report(p *Problem) { d.Problems = append(d.Problems, p) }

func (d *Decoder) add(n *yaml.Node, path, format string, args ...any) {
	d.report(problem(path, n.Line, format, args...))
}

// value reads n into v. The types are nested to a fixed depth, so an alias of a value that contains it ends.
func (d *Decoder) value(n *yaml.Node, path string, v reflect.Value) {
	if d.values++; d.values > maxValues {
		if d.values == maxValues+1 {
			d.add(n, path, "makes more than %d values of the document: use fewer aliases", maxValues)
		}
		return
	}
	if _, ok := d.Lines[path]; !ok {
		d.Lines[path] = n.Line
	}
	n = resolve(n)
	if n.ShortTag() == "!!null" {
		d.add(n, path, "is empty: %s, or leave it out", wanted(v.Type()))
		return
	}
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		d.text(n, path, text)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, path, v.Elem())
	case reflect.Struct:
		if short, ok := reflect.TypeAssert[Shorthand](v); ok && n.Kind == yaml.ScalarNode {
			d.scalar(n, path, v.FieldByName(short.ShorthandFor()))
			return
		}
		d.structure(n, path, v)
	case reflect.Map:
		d.mapping(n, path, v)
	case reflect.Slice:
		d.list(n, path, v)
	default:
		d.scalar(n, path, v)
	}
}

// wanted says what to write where there is nothing.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if f, ok := reflect.TypeAssert[Former](reflect.New(t)); ok {
		return "write " + f.Form()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "give it a value, such as {}"
	case reflect.Slice:
		return "give it a value, such as []"
	default:
		return "give it a value"
	}
}

// structure reads a mapping with known fields.
func (d *Decoder) structure(n *yaml.Node, path string, v reflect.Value) {
	names := FieldNames(v.Type())
	EachField(n, path, d.report, func(key, value *yaml.Node) {
		i := slices.Index(names, key.Value)
		if i < 0 || key.Value == "" {
			known := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
			d.report(Unknown(key, path, "known here are", known))
			return
		}
		at := Under(path, key.Value)
		d.Lines[at] = key.Line
		d.value(value, at, v.Field(i))
		if fix := v.Type().Field(i).Tag.Get("zero"); fix != "" && value.Value == "0" {
			d.add(value, at, "is 0: %s", fix)
		}
	})
}

// FieldNames are the names of the fields of a struct in a document, by index; empty for one that is not in it.
func FieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("yaml")
	}
	return names
}

// mapping reads a mapping with names that the author of the document chose.
func (d *Decoder) mapping(n *yaml.Node, path string, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	EachField(n, path, d.report, func(key, value *yaml.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.Lines[Under(path, key.Value)] = key.Line
		d.value(value, Under(path, key.Value), element)
		v.SetMapIndex(reflect.ValueOf(key.Value), element)
	})
}

func (d *Decoder) list(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		d.add(n, path, "is %s: write a list, as in [a, b]", Kind(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, min(len(n.Content), 1024)))
	for i, item := range n.Content {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(item, Item(path, i), element)
		if d.GaveUp() {
			return
		}
		v.Set(reflect.Append(v, element))
	}
}

// text reads a value with a form of its own.
func (d *Decoder) text(n *yaml.Node, path string, to encoding.TextUnmarshaler) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		form := "a text, in quotes if need be"
		if f, ok := to.(Former); ok {
			form = f.Form()
		}
		d.add(n, path, "is %s: write %s", Kind(n), form)
		return
	}
	if err := to.UnmarshalText([]byte(n.Value)); err != nil {
		d.add(n, path, "%s", err)
		return
	}
	if d.Read == nil {
		return
	}
	if err := d.Read(to); err != nil {
		d.add(n, path, "cannot be read: %s", err)
	}
}

// wholeNumber is how people write whole numbers. YAML has other forms, such as 010, which is 8.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// scalar reads a single value of a kind that YAML knows.
func (d *Decoder) scalar(n *yaml.Node, path string, v reflect.Value) {
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode {
		tag = "" // fits nothing
	}
	switch v.Kind() {
	case reflect.String:
		_, numeric := reflect.TypeAssert[Numeric](v)
		if tag != "!!str" && (tag != "!!int" && tag != "!!float" || !numeric) {
			d.add(n, path, "is %s: write a text, in quotes if need be", Kind(n))
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if tag != "!!bool" {
			d.add(n, path, "is %s: write true or false", Kind(n))
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int, reflect.Int64:
		number, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if tag != "!!int" || err != nil || !wholeNumber.MatchString(n.Value) {
			d.add(n, path, "is %s: write a whole number, at most %d", Kind(n), int64(math.MaxInt64))
			return
		}
		v.SetInt(number)
	case reflect.Float64:
		number, err := strconv.ParseFloat(n.Value, 64)
		if tag != "!!int" && tag != "!!float" || err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
			d.add(n, path, "is %s: write a number, such as 0.5", Kind(n))
			return
		}
		if number == 0 {
			number = 0 // without the sign of -0
		}
		v.SetFloat(number)
	default:
		panic(fmt.Sprintf("strictyaml: the field %s has the type %s, which no document can hold", path, v.Type()))
	}
}
