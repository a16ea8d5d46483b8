package config

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// Digest is of the text that the document was parsed from, of all its fields and of the content of all files that it
// names. Documents with the same digest say the same.
func (d *Document) Digest() [sha256.Size]byte {
	return digest(d.text, reflect.ValueOf(d).Elem())
}

// digest is of a text and of all values in v, with the content of files.
func digest(text []byte, v reflect.Value) [sha256.Size]byte {
	h := sha256.New()
	write := func(b []byte) {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		_, _ = h.Write(b)
	}
	write(text)
	eachValue(v, "", func(path string, v reflect.Value) {
		write([]byte(path))
		switch value := v.Interface().(type) {
		case File:
			write([]byte(value.Path))
			write(value.Bytes())
		case KeysFile:
			held := value.Keys().Digest()
			write([]byte(value.Path))
			write(held[:])
		default:
			write(fmt.Append(nil, value))
		}
	})
	return [sha256.Size]byte(h.Sum(nil))
}

// eachValue calls f for everything in v that is no struct, list or mapping of the document's, by its path, in the order of
// the fields. A list or mapping that is there is called for with its length.
func eachValue(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Interface().(type) {
	case File, Folder, KeysFile, Network, Place:
		f(path, v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f(path, reflect.ValueOf(true))
			eachValue(v.Elem(), path, f)
		}
	case reflect.Struct:
		for i, name := range strictyaml.FieldNames(v.Type()) {
			if name != "" {
				eachValue(v.Field(i), strictyaml.Under(path, name), f)
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			f(path, reflect.ValueOf(v.Len()))
		}
		for _, key := range sortedKeys(v) {
			eachValue(v.MapIndex(key), strictyaml.Under(path, key.String()), f)
		}
	case reflect.Slice:
		if !v.IsNil() {
			f(path, reflect.ValueOf(v.Len()))
		}
		for i := range v.Len() {
			eachValue(v.Index(i), strictyaml.Item(path, i), f)
		}
	default:
		f(path, v)
	}
}

func sortedKeys(m reflect.Value) []reflect.Value {
	byName := map[string]reflect.Value{}
	for _, key := range m.MapKeys() {
		byName[key.String()] = key
	}
	keys := make([]reflect.Value, 0, len(byName))
	for _, name := range sorted(byName) {
		keys = append(keys, byName[name])
	}
	return keys
}
