package limit_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

func TestRequestJSONInvalid(t *testing.T) {
	for in, c := range map[string]struct{ field, fix string }{
		"":                         {"body", "is empty"},
		" \n":                      {"body", "is empty"},
		"key=user:42":              {"body", "is not JSON: invalid character 'k'"},
		`{"key":`:                  {"body", "is not JSON: unexpected EOF"},
		`{"key":"k",}`:             {"body", "is not JSON: invalid character '}'"},
		`{'key':"k"}`:              {"body", "is not JSON: invalid character '\\''"},
		"{\"key\":\"k\n\"}":        {"body", "is not JSON: invalid character '\\n' in string literal at byte 10"},
		"{\"key\":\"user:\xff\"}":  {"body", "is not valid UTF-8"},
		`[]`:                       {"body", "is a JSON array, not an object"},
		`"user:42"`:                {"body", "is a JSON string, not an object"},
		`17`:                       {"body", "is a JSON number, not an object"},
		`{}{}`:                     {"body", "holds more than one JSON value"},
		`{} x`:                     {"body", "holds more than one JSON value"},
		`{}]`:                      {"body", "holds more than one JSON value"},
		`{}}`:                      {"body", "holds more than one JSON value"},
		`{},`:                      {"body", "holds more than one JSON value"},
		"{}\x00":                   {"body", "holds more than one JSON value"},
		`{"kye":"k"}`:              {"kye", "is not a known field"},
		`{"a \"b\"":1}`:            {`a "b"`, "is not a known field"},
		`{"":1}`:                   {"body", `"" is not a known field`},
		`{"key":5}`:                {"key", "is a JSON number, not a string"},
		`{"key":["a"]}`:            {"key", "is a JSON array, not a string"},
		`{"limits":"login"}`:       {"limits", "is not a list, as in [\"login\"]"},
		`{"limits":{"name":"a"}}`:  {"limits", "is not a list, as in [\"login\"]"},
		`{"limits":["a",5]}`:       {"limits[1]", "is neither the name of a stored limit nor an object that defines one"},
		`{"limits":["a",["b"]]}`:   {"limits[1]", "is neither the name of a stored limit nor an object that defines one"},
		`{"limits":[{"nam":"a"}]}`: {"limits[0].nam", "is not a known field"},
		`{"limits":["a",{"name":1}]}`: {
			"limits[1].name", "is a JSON number, not a string",
		},
		`{"limits":[{"capacity":"1"}]}`:                 {"limits[0].capacity", "is a JSON string, not a 64-bit integer"},
		`{"limits":[{"capacity":9223372036854775808}]}`: {"limits[0].capacity", "is a JSON number 9223372036854775808, not a 64-bit integer"},
		`{"limits":[{"refill":5}]}`:                     {"limits[0].refill", "is a JSON number, not a string"},
		`{"limits":[{"refill":{"tokens":5}}]}`:          {"limits[0].refill", "is a JSON object, not a string"},
		`{"limits":[{"refill":"0/s"}]}`:                 {"limits[0].refill", "at least 1, as in 1/1h"},
		`{"limits":[{"refill":"abc"}]}`:                 {"limits[0].refill", "is not n/duration, such as 5/s"},
		`{"limits":[{"on_unavailable":true}]}`:          {"limits[0].on_unavailable", "is a JSON bool, not a string"},
		`{"cost":"1"}`:                                  {"cost", "is a JSON string, not a 64-bit integer"},
		`{"cost":1.5}`:                                  {"cost", "is a JSON number 1.5, not a 64-bit integer"},
		`{"cost":0}`:                                    {"cost", `0 takes nothing: leave the cost out to take 1 token, or send "look":true to take none`},
		`{"cost":1e400}`:                                {"cost", "is a JSON number 1e400, not a 64-bit integer"},
		`{"cost":9223372036854775808}`:                  {"cost", "is a JSON number 9223372036854775808, not a 64-bit integer"},
		`{"cost":` + strings.Repeat("9", 40) + `}`:      {"cost", "not a 64-bit integer"},
		`{"cost":[]}`:                                   {"cost", "is a JSON array, not a 64-bit integer"},
		`{"request_id":1}`:                              {"request_id", "is a JSON number, not a string"},
		`{"receipt":"true"}`:                            {"receipt", "is a JSON string, not a boolean"},
		strings.Repeat("[", 20000):                      {"body", "exceeded max depth"},
		`{"limits":` + strings.Repeat("[", 20000):       {"body", "exceeded max depth"},
	} {
		t.Run(in[:min(len(in), 40)], func(t *testing.T) {
			var r limit.Request
			wantFieldError(t, limit.DecodeJSON([]byte(in), &r), c.field, c.fix)
		})
	}
}

// What decodes need not be a valid request: that is for Validate, which names the field too.
func TestRequestJSONThatDoesNotValidate(t *testing.T) {
	for in, c := range map[string]struct{ field, fix string }{
		`null`:                                 {"key", "is empty"},
		`{}`:                                   {"key", "is empty"},
		`{"key":"k"}`:                          {"limits", "is empty"},
		`{"key":"k","limits":null}`:            {"limits", "is empty"},
		`{"key":"k","limits":[]}`:              {"limits", "is empty"},
		`{"key":"k","limits":[""]}`:            {"limits[0].name", "is empty"},
		`{"key":"k","limits":[{}]}`:            {"limits[0].name", "is empty"},
		`{"key":"k","limits":["a"],"cost":-1}`: {"cost", "is negative"},
		`{"key":"k","limits":[{"name":"a"}]}`:  {"limits[0].capacity", "at least 1"},
		`{"key":"k","limits":[{"name":"a","capacity":1}]}`:                    {"limits[0].refill", "is missing"},
		`{"key":"k","limits":[{"name":"a","capacity":0,"refill":"1/s"}]}`:     {"limits[0].capacity", "at least 1"},
		`{"key":"k","limits":["a",{"name":"a","capacity":1,"refill":"1/s"}]}`: {"limits[1]", "is named twice"},
	} {
		var r limit.Request
		if err := limit.DecodeJSON([]byte(in), &r); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		wantFieldError(t, r.Validate(), c.field, c.fix)
	}
}

func TestDecisionJSONInvalid(t *testing.T) {
	for in, c := range map[string]struct{ field, fix string }{
		`{"allowed":1}`:                                     {"allowed", "is a JSON number, not a boolean"},
		`{"limits":{}}`:                                     {"limits", "is a JSON object, not a list"},
		`{"limits":[{"remaining":"9"}]}`:                    {"limits.remaining", "is a JSON string, not a 64-bit integer"},
		`{"limits":[{"retry_after_ms":1e99}]}`:              {"limits.retry_after_ms", "is a JSON number 1e99, not a 64-bit integer"},
		`{"limits":[7]}`:                                    {"limits", "is a JSON number, not an object"},
		`[]`:                                                {"body", "is a JSON array, not an object"},
		`{"receipts":[{"generation":3}]}`:                   {"receipts", "generation, serial, start_ns and end_ns must be 64-bit integers in quotes"},
		`{"receipts":[{"generation":"three"}]}`:             {"receipts", "generation, serial, start_ns and end_ns must be 64-bit integers in quotes"},
		`{"receipts":[{"reuses":[{"end_ns":1}]}]}`:          {"receipts", "generation, serial, start_ns and end_ns must be 64-bit integers in quotes"},
		`{"receipts":[{"start_ns":"9223372036854775808"}]}`: {"receipts.start_ns", "is a JSON number 9223372036854775808, not a 64-bit integer"},
		`{"receipts":[{"serial":"-1"}]}`:                    {"receipts.serial", "is a JSON number -1, not a 64-bit integer, 0 or more"},
		`{"receipts":[{"owner":7}]}`:                        {"receipts.owner", "is a JSON number, not a string"},
		`{"receipts":[{"owner":"7"}]}`:                      {"owner", "is not 32 hexadecimal digits"},
	} {
		d := decision
		err := json.Unmarshal([]byte(in), &d)
		wantFieldError(t, err, c.field, c.fix)
		if !reflect.DeepEqual(d, decision) {
			t.Errorf("%s: an error changed the decision to %+v", in, d)
		}
	}
}
