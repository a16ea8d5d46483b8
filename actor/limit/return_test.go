package limit_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// TestDecodeReturn reads what a return over HTTP has: all of its receipts but what they have spent again, or a field that is wrong.
func TestDecodeReturn(t *testing.T) {
	const receipt = `{"limit":"login","generation":"3","start_ns":"-1","end_ns":"9","owner":"000102030405060708090a0b0c0d0e0f","serial":"7","reuses":[{"start_ns":"1","end_ns":"2"}]}`
	var got limit.Return
	if err := limit.DecodeJSON([]byte(`{"key":"user:42","receipts":[`+receipt+`]}`), &got); err != nil {
		t.Fatal(err)
	}
	want := limit.Return{Key: "user:42", Receipts: []limit.Receipt{{
		Limit: "login", Generation: 3, Span: limit.Span{Start: -1, End: 9}, Serial: 7,
		Owner: limit.OwnerID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for text, wrong := range map[string][2]string{
		`{"receipts":[{"generation":3}]}`:                      {"receipts", "in quotes"},
		`{"receipts":[{"start_ns":"9223372036854775808"}]}`:    {"receipts.start_ns", "not a 64-bit integer"},
		`{"receipts":[{"serial":"-1"}]}`:                       {"receipts.serial", "0 or more"},
		`{"receipts":[{"owner":7}]}`:                           {"receipts.owner", "not a string"},
		`{"receipts":[{"owner":"7"}]}`:                         {"receipts.owner", "hexadecimal"},
		`{"receipts":[{"other":"7"}]}`:                         {"receipts.other", "not a known field"},
		`{"receipts":{}}`:                                      {"receipts", "not a list"},
		`{"receipts":7}`:                                       {"receipts", "not a list"},
		`{"receipts":[7]}`:                                     {"receipts", "not an object"},
		`{"receipts":[` + strings.Repeat(`{},`, 1000) + `{}]}`: {"receipts", "more than 1000 receipts are too many"},
		`{"other":[]}`:                                         {"other", "not a known field"},
	} {
		err := limit.DecodeJSON([]byte(text), new(limit.Return))
		fe, ok := errors.AsType[*limit.FieldError](err)
		if !ok || fe.Field != wrong[0] || !strings.Contains(fe.Problem, wrong[1]) {
			t.Errorf("%.60s: %v, want %v", text, err, wrong)
		}
	}
	if err := limit.DecodeJSON([]byte(`{"receipts":null}`), new(limit.Return)); err != nil {
		t.Error(err)
	}
	if err := limit.DecodeJSON([]byte(fmt.Sprintf(`{"receipts":[%s{}]}`, strings.Repeat(`{},`, 999))), new(limit.Return)); err != nil {
		t.Error(err)
	}
}
