package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzParse holds that no text makes Parse panic; that what it accepts is valid, is accepted by the schema, and is read
// again from what is written of it.
func FuzzParse(f *testing.F) {
	s := compiled(f)
	for _, glob := range []string{"*.yaml", "wrong/*.yaml"} {
		paths, err := filepath.Glob(filepath.Join("testdata", glob))
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds in %s: %v", glob, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "range") && !strings.Contains(text, "range .Limits") {
			return // a template that counts to a great number takes as long as it says
		}
		d, err := Parse([]byte(text), "testdata")
		if err != nil {
			problemsIn(t, err)
			return
		}
		if err := d.Validate(); err != nil {
			t.Fatalf("what was read is not valid: %v", err)
		}
		if err := judge(s, []byte(text)); err != nil && !errors.Is(err, errNotJSON) { // 1: a is no JSON
			t.Fatalf("the schema refuses what was read: %v", err)
		}
		written, err := yaml.Marshal(plain(reflect.ValueOf(d).Elem()))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written, "testdata")
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, written)
		}
		before, after := *d, *again
		before.text, before.lines, after.text, after.lines = nil, nil, nil, nil
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("written\n%s\nit is read as\n%+v\nand not as\n%+v", written, after, before)
		}
		if before.Digest() != after.Digest() {
			t.Fatal("the same document has two digests")
		}
	})
}

// plain is what a document would be written as: mappings, lists and single values, without what is zero. An empty list
// is kept, since one that is missing is another thing.
func plain(v reflect.Value) any {
	switch value := v.Interface().(type) {
	case File:
		return value.Path
	case KeysFile:
		return value.Path
	case Folder:
		return value.Path
	case Place:
		return value.Path
	case Network:
		return value.String()
	case Duration:
		return value.String()
	}
	switch v.Kind() {
	case reflect.Pointer:
		return plain(v.Elem())
	case reflect.Struct:
		fields := map[string]any{}
		for f, field := range v.Fields() {
			if f.IsExported() && !field.IsZero() {
				fields[f.Tag.Get("yaml")] = plain(field)
			}
		}
		return fields
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = plain(v.Index(i))
		}
		return list
	case reflect.Map:
		m := map[string]any{}
		for _, key := range v.MapKeys() {
			m[key.String()] = plain(v.MapIndex(key))
		}
		return m
	case reflect.String:
		return v.String()
	default:
		return v.Interface()
	}
}
