package limit

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// UnknownField is the Problem of a field that JSON text has and no type of this package.
const UnknownField = "is not a known field"

// DecodeJSON reads one JSON value strictly into v: an unknown field, a value of the wrong type, text that is not UTF-8
// and anything after the value are *FieldErrors. A problem of the text as a whole has the field "body".
func DecodeJSON(data []byte, v any) error {
	if !utf8.Valid(data) {
		return bodyError("is not valid UTF-8") // encoding/json would replace the invalid bytes, and so read different keys as one
	}
	if loneSurrogate(data) {
		return bodyError(`holds half of a surrogate pair: the escapes \ud800 to \udfff stand for a character in pairs only`)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return jsonError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return bodyError("holds more than one JSON value")
	}
	return nil
}

// standsTwice is the error of a list that an object has twice. It would be decoded each time, and other readers may take another one.
func standsTwice(field string) error {
	return &FieldError{Field: field, Problem: "stands twice: keep one"}
}

// loneSurrogate says whether an escape in text is half of a surrogate pair. encoding/json would replace each half by the same
// character, and so read different keys as one.
func loneSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		r, ok := escaped(text[i:])
		switch {
		case !ok:
			i++ // an escape of one character
		case !utf16.IsSurrogate(r):
			i += 5
		default:
			low, _ := escaped(text[min(i+6, len(text)):])
			if utf16.DecodeRune(r, low) == utf8.RuneError {
				return true
			}
			i += 11
		}
	}
	return false
}

// escaped reads the escape \uXXXX at the beginning of text.
func escaped(text []byte) (r rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

func bodyError(problem string) error { return &FieldError{Field: "body", Problem: problem} }

// jsonError makes a *FieldError of an error of encoding/json.
func jsonError(err error) error {
	var (
		field  *FieldError
		wrong  *json.UnmarshalTypeError
		syntax *json.SyntaxError
	)
	switch {
	case errors.As(err, &field):
		return field
	case errors.As(err, &wrong):
		path := strings.NewReplacer("Span.", "", "Receipt.", "").Replace(wrong.Field) // embedded structs are no levels of the JSON
		if path == "" {
			path = "body"
		}
		return &FieldError{Field: named(path), Problem: fmt.Sprintf("is a JSON %.64s, not %s", wrong.Value, wanted(wrong.Type))}
	case errors.As(err, &syntax):
		return bodyError(fmt.Sprintf("is not JSON: %v at byte %d", syntax, syntax.Offset))
	case errors.Is(err, io.EOF):
		return bodyError("is empty: write a JSON object")
	}
	// encoding/json has no types for these two errors.
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		if name, _ := strconv.Unquote(quoted); name != "" {
			return &FieldError{Field: named(name), Problem: UnknownField}
		}
		return bodyError(quoted + " " + UnknownField)
	}
	if strings.HasPrefix(err.Error(), "json: invalid use of ,string struct tag") {
		return errUnquoted
	}
	return bodyError("is not JSON: " + err.Error())
}

// errUnquoted refuses what should be a 64-bit integer in quotes. encoding/json does not say which field that is: receipts have the most.
var errUnquoted = &FieldError{Field: "receipts", Problem: "generation, serial, start_ns and end_ns must be 64-bit integers in quotes"}

// isUnquoted says whether err is errUnquoted.
func isUnquoted(err error) bool {
	fe, is := errors.AsType[*FieldError](err)
	return is && fe == errUnquoted
}

// wanted is the kind of JSON value that t can hold.
func wanted(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice:
		return "a list"
	case reflect.Int64:
		return "a 64-bit integer"
	case reflect.Uint64:
		return "a 64-bit integer, 0 or more"
	default:
		return "an object"
	}
}
