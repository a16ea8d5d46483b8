package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compiled is the committed schema, ready to validate.
func compiled(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	text, err := Schema()
	if err != nil {
		tb.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(schemaFile, parsed); err != nil {
		tb.Fatal(err)
	}
	s, err := c.Compile(schemaFile)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// errNotJSON is of YAML that has no counterpart in JSON, which a schema could judge.
var errNotJSON = errors.New("not JSON")

// judge holds a text against the schema, as an editor does.
func judge(s *jsonschema.Schema, text []byte) error {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return errors.Join(errNotJSON, err)
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return errors.Join(errNotJSON, err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
	if err != nil {
		return errors.Join(errNotJSON, err)
	}
	return s.Validate(parsed)
}

// problemsIn are the problems that an error of Read, Parse or Validate joins.
func problemsIn(t *testing.T, err error) []*limit.FieldError {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatalf("%T is not joined: %v", err, err)
	}
	var found []*limit.FieldError
	for _, err := range joined.Unwrap() {
		var fe *limit.FieldError
		if !errors.As(err, &fe) {
			t.Fatalf("%T is no field error: %v", err, err)
		}
		found = append(found, fe)
	}
	return found
}

func TestExamples(t *testing.T) {
	s := compiled(t)
	for _, name := range []string{"small.yaml", "full.yaml"} {
		path := filepath.Join("testdata", name)
		d, err := ReadInsecure(path)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s, validated again: %v", name, err)
		}
		if err := judge(s, d.text); err != nil {
			t.Errorf("%s, by the schema: %v", name, err)
		}
	}
}

// TestFullExampleUsesEveryField keeps full.yaml, and so the schema and the decoder, tried with every field there is.
func TestFullExampleUsesEveryField(t *testing.T) {
	d, err := ReadInsecure(filepath.Join("testdata", "full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{} // by type and field; every field of the struct tree has its place
	var declare func(of reflect.Type)
	declare = func(of reflect.Type) {
		switch {
		case isValue(of):
		case of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map:
			declare(of.Elem())
		case of.Kind() == reflect.Struct:
			for f := range of.Fields() {
				if f.IsExported() {
					used[of.Name()+"."+f.Name] = false
					declare(f.Type)
				}
			}
		}
	}
	declare(reflect.TypeFor[Document]())
	if len(used) < 80 {
		t.Fatalf("only %d fields were found", len(used))
	}
	var look func(v reflect.Value)
	look = func(v reflect.Value) {
		switch {
		case isValue(v.Type()):
		case v.Kind() == reflect.Pointer && !v.IsNil():
			look(v.Elem())
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				look(v.Index(i))
			}
		case v.Kind() == reflect.Map:
			for _, key := range v.MapKeys() {
				look(v.MapIndex(key))
			}
		case v.Kind() == reflect.Struct:
			for f, field := range v.Fields() {
				if f.IsExported() && !field.IsZero() {
					used[v.Type().Name()+"."+f.Name] = true
					look(field)
				}
			}
		}
	}
	look(reflect.ValueOf(d).Elem())
	for name, is := range used {
		if !is {
			t.Errorf("full.yaml does not use %s", name)
		}
	}
}

// isValue says whether a type is one value in a document, for all that it is a struct in Go.
func isValue(of reflect.Type) bool {
	return of == reflect.TypeFor[File]() || of == reflect.TypeFor[KeysFile]() || of == reflect.TypeFor[Folder]() || of == reflect.TypeFor[Place]() || of == reflect.TypeFor[Network]()
}

// TestWrongExamples reads documents that say in their first lines what is wrong with them: "# want:" is a part of the
// error, with the line where it begins with a number, which is one problem; "# schema:" is what the schema makes of it.
func TestWrongExamples(t *testing.T) {
	s := compiled(t)
	header := regexp.MustCompile(`(?m)^# (want|schema): (.*)$`)
	paths, err := filepath.Glob(filepath.Join("testdata", "wrong", "*.yaml"))
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d wrong examples: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var wants []string
			schema := ""
			for _, found := range header.FindAllStringSubmatch(string(text), -1) {
				if found[1] == "want" {
					wants = append(wants, found[2])
				} else {
					schema = found[2]
				}
			}
			_, err = ReadInsecure(path)
			if err == nil || len(wants) == 0 {
				t.Fatalf("error %v, with %d things wanted", err, len(wants))
			}
			for _, want := range wants {
				if regexp.MustCompile(`^\d`).MatchString(want) {
					want = path + ":" + want
				}
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
			problems := problemsIn(t, err)
			numbered := slices.DeleteFunc(wants, func(want string) bool { return want[0] < '0' || want[0] > '9' })
			if want := max(1, len(numbered)); len(problems) != want {
				t.Errorf("%d problems, want %d:\n%v", len(problems), want, err)
			}
			for _, p := range problems {
				if p.Line < 1 || p.Field == "" || p.Problem == "" {
					t.Errorf("a problem lacks its line, field or text: %+v", p)
				}
			}
			if verdict := judge(s, text); schema != "cannot tell" && (verdict == nil) != (schema == "accepts") {
				t.Errorf("the schema %s this, but says: %v", schema, verdict)
			}
			if !slices.Contains([]string{"accepts", "refuses", "cannot tell"}, schema) {
				t.Errorf("what the schema makes of it is %q", schema)
			}
		})
	}
}
