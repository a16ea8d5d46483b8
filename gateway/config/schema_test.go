package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/jeton-dev/jeton/actor/limit"
)

// update makes TestSchemaIsCurrent write the schema instead of comparing it: see config.go.
var update = flag.Bool("update", false, "write "+schemaFile)

func TestSchemaIsCurrent(t *testing.T) {
	want := generateSchema(t)
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not that of the struct tree: run go generate ./gateway/config", schemaFile)
	}
}

// generateSchema makes the schema of the structs, their comments, and the bounds below.
func generateSchema(t *testing.T) []byte {
	t.Helper()
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", RequiredFromJSONSchemaTags: true, ExpandedStruct: true, Mapper: ownForms, Anonymous: true,
	}
	if err := r.AddGoComments(reflect.TypeFor[Document]().PkgPath(), ".", jsonschema.WithFullComment()); err != nil {
		t.Fatal(err)
	}
	comments := r.CommentMap
	r.CommentMap = nil
	r.LookupComment = func(of reflect.Type, field string) string { return description(comments, of, field) }

	s := r.Reflect(&Document{})
	s.ID, s.Title = "https://github.com/jeton-dev/jeton/gateway/config/"+schemaFile, "The document of a jeton gateway"
	s.Definitions["Document"] = &jsonschema.Schema{Properties: s.Properties}
	for where, bound := range bounds {
		typ, field, _ := strings.Cut(where, ".")
		definition, ok := s.Definitions[typ]
		if !ok {
			t.Fatalf("bounds: the schema has no %s", typ)
		}
		if field != "" {
			if definition, ok = definition.Properties.Get(field); !ok {
				t.Fatalf("bounds: the schema has no %s", where)
			}
		}
		bound(definition)
	}
	delete(s.Definitions, "Document")
	costs(s.Definitions["Cost"])

	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

// ownForms are the schemas of values that are written in a form of their own.
func ownForms(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[+-]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`}
	case reflect.TypeFor[Network]():
		return &jsonschema.Schema{Type: "string", Pattern: `^[0-9a-fA-F.:]+(/[0-9]+)?$`}
	case reflect.TypeFor[Status]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "integer", Minimum: "100", Maximum: "599"}, {Type: "string", Pattern: statusPattern},
		}}
	case reflect.TypeFor[Decimal]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "number", Minimum: "0"}, {Type: "string", Pattern: `^([0-9]{1,12}(\.[0-9]{1,6})?)?$`},
		}}
	case reflect.TypeFor[File](), reflect.TypeFor[KeysFile](), reflect.TypeFor[Folder](), reflect.TypeFor[Place]():
		return &jsonschema.Schema{Type: "string"}
	case reflect.TypeFor[limit.Policy]():
		return &jsonschema.Schema{Type: "string", Enum: []any{"", string(limit.Allow), string(limit.Deny), string(limit.Local)}}
	}
	return nil
}

// link is a reference in a comment of Go, and sentence one that is nothing else.
var (
	link     = regexp.MustCompile(`\[(\w+(?:\.\w+)*)\]`)
	sentence = regexp.MustCompile(`:?\s?[Ss]ee\s\[[\w.]+\]`)
)

// description is the comment of a type or field, in which fields have the names that they have in a document.
func description(comments map[string]string, of reflect.Type, field string) string {
	if of.Kind() != reflect.Struct {
		return ""
	}
	name := of.PkgPath() + "." + of.Name()
	if field != "" {
		name += "." + field
	}
	text := sentence.ReplaceAllString(comments[name], "")
	text = link.ReplaceAllString(strings.ReplaceAll(text, "..", "."), "$1")
	for f := range of.Fields() {
		if f.IsExported() {
			word := regexp.MustCompile(`(^|[^.\w-])` + f.Name + `\b`)
			text = word.ReplaceAllString(text, "${1}"+f.Tag.Get("yaml"))
		}
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.TrimSpace(strings.Join(strings.Fields(p), " "))
	}
	return strings.TrimSpace(strings.Join(paragraphs, "\n\n"))
}
