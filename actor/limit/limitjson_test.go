package limit_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// A limit in JSON has the fields of its algorithm.
func TestLimitJSON(t *testing.T) {
	for text, want := range map[string]limit.Limit{
		`{"name":"a","capacity":10,"refill":"1/s"}`: {Name: "a", Capacity: 10, Refill: perSecond(1)},
		`{"name":"a","algorithm":"fixed-window","limit":100,"window":"1m"}`: {
			Name: "a", Algorithm: limit.FixedWindow, Capacity: 100, Window: time.Minute,
		},
		`{"name":"a","algorithm":"fixed-window","limit":9,"per":"month","timezone":"Europe/Berlin","anchor":"15"}`: {
			Name: "a", Algorithm: limit.FixedWindow, Capacity: 9, Per: "month", Timezone: "Europe/Berlin", Anchor: "15",
		},
	} {
		var r limit.Request
		if err := json.Unmarshal([]byte(`{"key":"k","limits":[`+text+`]}`), &r); err != nil || *r.Limits[0].Inline != want {
			t.Errorf("%s is read as %+v, %v", text, r.Limits, err)
		}
		if out, err := json.Marshal(want); err != nil || string(out) != text {
			t.Errorf("%+v is written as %s, %v", want, out, err)
		}
		var again limit.Limit
		if err := json.Unmarshal([]byte(text), &again); err != nil || again != want {
			t.Errorf("%s is read as %+v, %v", text, again, err)
		}
	}
	var r limit.Request
	if err := json.Unmarshal([]byte(`{"key":"k","limits":[{"name":"a","algorithm":"fixed-window","limit":9,"per":"month","anchor":15}]}`), &r); err != nil || r.Limits[0].Inline.Anchor != "15" {
		t.Errorf("an anchor that is a number: %+v, %v", r.Limits, err)
	}
}

func TestLimitJSONInvalid(t *testing.T) {
	for text, want := range map[string]struct{ field, fix string }{
		`{"name":"a","algorithm":"fixed-window","capacity":100,"window":"1m"}`:              {"limits[0].capacity", "write limit: 100"},
		`{"name":"a","limit":100,"refill":"1/s"}`:                                           {"limits[0].limit", "write capacity: 100"},
		`{"name":"a","capacity":1,"refill":"1/s","timezone":"UTC"}`:                         {"limits[0].timezone", "does not fit the algorithm token-bucket"},
		`{"name":"a","algorithm":"fixed-window","limit":1,"window":60}`:                     {"limits[0].window", "is a JSON number, not a string"},
		`{"name":"a","algorithm":"fixed-window","limit":1,"window":"1mo"}`:                  {"limits[0].window", "write per: month"},
		`{"name":"a","algorithm":"fixed-window","limit":1,"window":"1m","per":"day"}`:       {"limits[0].per", "leave one of them out"},
		`{"name":"a","algorithm":"fixed-window","limit":1,"per":"month","anchor":32}`:       {"limits[0].anchor", "use 1 to 31"},
		`{"name":"a","algorithm":"fixed-window","limit":1,"per":"month","anchor":[15]}`:     {"limits[0].anchor", "is a JSON array, not a string"},
		`{"name":"a","algorithm":"fixed-window","limit":1,"per":"day","timezone":"Berlin"}`: {"limits[0].timezone", `did you mean "Europe/Berlin"?`},
		`{"name":"a","algorithm":"fixed-window","window":"1m"}`:                             {"limits[0].limit", "is missing or 0"},
	} {
		var r limit.Request
		err := json.Unmarshal([]byte(`{"key":"k","limits":[`+text+`]}`), &r)
		if err == nil {
			err = r.Validate()
		}
		wantFieldError(t, err, want.field, want.fix)
	}
}
