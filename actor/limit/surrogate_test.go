package limit_test

import (
	"errors"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Two keys that differ must not become one on their way in.
func TestDecodeJSONRefusesHalfSurrogates(t *testing.T) {
	for text, want := range map[string]string{
		`{"key":"\ud83d\ude00"}`:    "😀",
		`{"key":"\u0041\\ud800"}`:   `A\ud800`,
		`{"key":"\ufffd"}`:          "\ufffd",
		`{"key":"\"\ud83d\ude00x"}`: `"😀x`,
	} {
		var r limit.Request
		if err := limit.DecodeJSON([]byte(text), &r); err != nil || r.Key != want {
			t.Errorf("%s: key %q, %v, want %q", text, r.Key, err, want)
		}
	}
	for _, text := range []string{
		`{"key":"\ud800"}`, `{"key":"\udfff"}`, `{"key":"\ud800\u0041"}`, `{"key":"\ud800x"}`, `{"key":"\ude00\ud83d"}`,
		`{"key":"a\\\ud800"}`,
	} {
		var r limit.Request
		err := limit.DecodeJSON([]byte(text), &r)
		if fe, ok := errors.AsType[*limit.FieldError](err); !ok || fe.Field != "body" {
			t.Errorf("%s: key %q, %v, want a *FieldError of the body", text, r.Key, err)
		}
	}
}
