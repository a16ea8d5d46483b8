package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/keys"
	"github.com/jeton-dev/jeton/ring/secret"
)

const (
	maxValues = 250_000 // values of a document: aliases may multiply what is written once
	maxFile   = 1 << 20 // bytes of a file that the document names

	writtenByOthers = fs.FileMode(0o002) // a permission that no such file has: it holds tokens, secrets, keys or certificates
)

// A decoder fills a document from YAML, strictly, and goes on after a problem.
type decoder struct {
	dir      string         // that relative files are found from
	keys     *keys.Reader   // of identity.api_key.keys_file
	lines    map[string]int // where each field stands, by path
	problems []*limit.FieldError
	values   int // seen
}

// gaveUp says whether the document has so many values that it was not read to its end.
func (d *decoder) gaveUp() bool { return d.values > maxValues }

// add is a problem at a node.
func (d *decoder) add(n *yaml.Node, path, format string, args ...any) {
	d.problems = append(d.problems, &limit.FieldError{
		Field: cmp.Or(path, "document"), Problem: fmt.Sprintf(format, args...), Line: n.Line,
	})
}

// value reads n into v. Types are nested no deeper than the struct tree, so that an alias of what holds it comes to an end.
func (d *decoder) value(n *yaml.Node, path string, v reflect.Value) {
	if d.values++; d.values > maxValues {
		if d.values == maxValues+1 {
			d.add(n, path, "makes more than %d values of the document: use fewer aliases", maxValues)
		}
		return
	}
	if _, ok := d.lines[path]; !ok {
		d.lines[path] = n.Line
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.ShortTag() == "!!null" {
		d.add(n, path, "is empty: give it a value, {} or [] among them, or leave it out")
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
		if v.Type() == reflect.TypeFor[Cost]() && n.Kind == yaml.ScalarNode {
			v = v.FieldByName("Tokens")
			d.scalar(n, path, v)
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

// structure reads a mapping whose fields are known.
func (d *decoder) structure(n *yaml.Node, path string, v reflect.Value) {
	names := fieldNames(v.Type())
	d.eachField(n, path, func(key, value *yaml.Node) {
		i := slices.Index(names, key.Value)
		switch {
		case key.Value == "<<":
			d.add(key, under(path, key.Value), "mappings are not merged here: write the fields out, or use an alias for a whole value")
		case i < 0 || key.Value == "":
			d.add(key, under(path, fmt.Sprintf("%.64s", key.Value)), "is not a known field: known here are %s", known(names))
		default:
			d.lines[under(path, key.Value)] = key.Line
			d.value(value, under(path, key.Value), v.Field(i))
			if fix := v.Type().Field(i).Tag.Get("zero"); fix != "" && value.Value == "0" {
				d.add(value, under(path, key.Value), "is 0: %s", fix)
			}
		}
	})
}

// fieldNames are the names of the fields of a struct in a document, by their index; empty for what is no part of it.
func fieldNames(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("yaml")
	}
	return names
}

func known(names []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" }), ", ")
}

// under is the path of a field of what stands at a path; "" is the document.
func under(path, field string) string { return strings.TrimPrefix(path+"."+field, ".") }

// mapping reads a mapping with names of the user's own.
func (d *decoder) mapping(n *yaml.Node, path string, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	d.eachField(n, path, func(key, value *yaml.Node) {
		element := reflect.New(v.Type().Elem()).Elem()
		d.lines[under(path, key.Value)] = key.Line
		d.value(value, under(path, key.Value), element)
		v.SetMapIndex(reflect.ValueOf(key.Value), element)
	})
}

// eachField calls f for every field of a mapping, in its order, and refuses fields that stand there twice.
func (d *decoder) eachField(n *yaml.Node, path string, f func(key, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		d.add(n, path, "is %s: write a mapping, as in name: value", kind(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			d.add(n.Content[i], path, "holds %s for a name: names are single values, as in name: value", kind(key))
			continue
		}
		if line, twice := seen[key.Value]; twice {
			d.add(key, under(path, fmt.Sprintf("%.64s", key.Value)), "is defined already at line %d", line)
			continue
		}
		seen[key.Value] = key.Line
		f(key, n.Content[i+1])
	}
}

func (d *decoder) list(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.SequenceNode || n.ShortTag() != "!!seq" {
		d.add(n, path, "is %s: write a list, as in [a, b]", kind(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 0, min(len(n.Content), 1024)))
	for i, item := range n.Content {
		element := reflect.New(v.Type().Elem()).Elem()
		d.value(item, fmt.Sprintf("%s[%d]", path, i), element)
		if d.gaveUp() {
			return
		}
		v.Set(reflect.Append(v, element))
	}
}

// text reads a value that has a form of its own, and the content of a file.
func (d *decoder) text(n *yaml.Node, path string, to encoding.TextUnmarshaler) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		if _, is := to.(*Duration); is {
			d.add(n, path, "is %s: write a duration with its unit, such as 2s or 500ms", kind(n))
			return
		}
		d.add(n, path, "is %s: write a text, in quotes if need be", kind(n))
		return
	}
	if err := to.UnmarshalText([]byte(n.Value)); err != nil {
		d.add(n, path, "%s", err)
		return
	}
	var err error
	switch file := to.(type) {
	case *File:
		err = file.read(d.dir)
	case *KeysFile:
		err = file.read(d.dir, d.keys)
	}
	if err != nil {
		d.add(n, path, "cannot be read: %s", err)
	}
}

// wholeNumber is how people write whole numbers. YAML has other forms, of which 010 is 8.
var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// scalar reads a single value of a kind that YAML knows.
func (d *decoder) scalar(n *yaml.Node, path string, v reflect.Value) {
	tag := n.ShortTag()
	if n.Kind != yaml.ScalarNode {
		tag = "" // fits nothing
	}
	switch v.Kind() {
	case reflect.String:
		number := tag == "!!int" && v.Type() == reflect.TypeFor[Status]() // as most of them are written
		if tag != "!!str" && !number {
			d.add(n, path, "is %s: write a text, in quotes if need be", kind(n))
			return
		}
		v.SetString(n.Value)
	case reflect.Bool:
		if tag != "!!bool" {
			d.add(n, path, "is %s: write true or false", kind(n))
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int, reflect.Int64:
		number, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if tag != "!!int" || err != nil || !wholeNumber.MatchString(n.Value) {
			d.add(n, path, "is %s: write a whole number, at most %d", kind(n), int64(math.MaxInt64))
			return
		}
		v.SetInt(number)
	case reflect.Float64:
		number, err := strconv.ParseFloat(n.Value, 64)
		if tag != "!!int" && tag != "!!float" || err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
			d.add(n, path, "is %s: write a number, such as 0.5", kind(n))
			return
		}
		if number == 0 {
			number = 0 // without the sign of -0, which is not said to be another number
		}
		v.SetFloat(number)
	default:
		panic(fmt.Sprintf("config: the field %s has the type %s, which no document can hold", path, v.Type()))
	}
}

// kind says what a node is, to a person.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return fmt.Sprintf("the text %.64q", n.Value)
	case "!!null":
		return "empty"
	case "!!int", "!!float":
		return fmt.Sprintf("the number %.64s", n.Value)
	default:
		return fmt.Sprintf("%.64s, of the kind %.64s", n.Value, strings.TrimLeft(tag, "!"))
	}
}

// read takes the content in. A path that is not absolute begins at dir.
func (f *File) read(dir string) error {
	if !f.Given() {
		return nil
	}
	path := from(dir, f.Path)
	info, err := os.Stat(path) // before it is opened, since a pipe would make that wait
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	case info.Mode().Perm()&writtenByOthers != 0:
		return fmt.Errorf("%s has mode %04o, so others on this machine may say who counts: run `chmod o-w %s`", path, info.Mode().Perm(), path)
	}
	opened, err := os.Open(path)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	err = errors.Join(err, opened.Close())
	switch {
	case err != nil:
		return err
	case len(content) > maxFile:
		return errors.New("it has more than 1 MiB")
	}
	f.content = &sealed{&content}
	if err := secret.Check(path, info); err != nil {
		f.exposed = err.Error()
	}
	return nil
}

// from is a path that begins at dir if it is not absolute.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
