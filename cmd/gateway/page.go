package gateway

import (
	"net/http"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/rpc/web"
)

// config answers GET /debug/config: the document in force, as the command line has changed it. Of files only the names are
// shown; URLs have no passwords.
func (a *admin) config(w http.ResponseWriter, _ *http.Request) {
	text, err := yaml.Marshal(shown(reflect.ValueOf(a.now.Load().doc)))
	if err != nil {
		web.WriteProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	_, _ = w.Write(text) // an error means that the caller has gone
}

// shown is a value of a document in YAML; nil for a field that the document does not have.
func shown(v reflect.Value) *yaml.Node {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if v.Elem().Kind() != reflect.Struct { // a number that may be 0
			return scalar(v.Elem().Interface())
		}
		n := shown(v.Elem())
		if n == nil { // it is there, if empty
			n = &yaml.Node{Kind: yaml.MappingNode}
		}
		return n
	case reflect.Struct:
		return shownStruct(v)
	case reflect.Slice:
		if v.IsNil() {
			return nil
		}
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			n.Content = append(n.Content, orEmpty(shown(v.Index(i))))
		}
		return n
	case reflect.Map:
		return shownMap(v)
	default:
		return shownValue(v)
	}
}

// shownValue is a single value.
func shownValue(v reflect.Value) *yaml.Node {
	if v.IsZero() {
		return nil
	}
	if d, ok := reflect.TypeAssert[config.Duration](v); ok {
		return scalar(time.Duration(d).String())
	}
	return scalar(v.Interface())
}

// shownStruct are the fields of a struct, in their order.
func shownStruct(v reflect.Value) *yaml.Node {
	switch f := v.Interface().(type) {
	case config.File:
		if !f.Given() {
			return nil
		}
		return scalar(f.Path)
	case config.Folder:
		if !f.Given() {
			return nil
		}
		return scalar(f.Path)
	case config.Network:
		return scalar(f.String())
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		if value := shown(v.Field(i)); value != nil {
			n.Content = append(n.Content, scalar(name), value)
		}
	}
	if len(n.Content) == 0 {
		return nil
	}
	return n
}

func shownMap(v reflect.Value) *yaml.Node {
	if v.Len() == 0 {
		return nil
	}
	all := map[string]*yaml.Node{}
	for entries := v.MapRange(); entries.Next(); {
		all[entries.Key().String()] = orEmpty(shown(entries.Value()))
	}
	n := &yaml.Node{}
	if err := n.Encode(all); err != nil { // sorted by name
		return scalar(err.Error())
	}
	return n
}

// orEmpty is n, or an empty value in place of nil.
func orEmpty(n *yaml.Node) *yaml.Node {
	if n == nil {
		return scalar("")
	}
	return n
}

func scalar(v any) *yaml.Node {
	n := &yaml.Node{}
	if err := n.Encode(v); err != nil {
		n.SetString(err.Error())
	}
	return n
}
