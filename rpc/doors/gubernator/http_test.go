package gubernator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// call sends one request as curl does, and reads the answer into m, if it is one.
func call(t *testing.T, d *Door, method, path, body string, m proto.Message) (code int, answer string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, r)
	got := w.Result()
	defer got.Body.Close()
	data, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if kind := got.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("the answer is %q", kind)
	}
	if m != nil && got.StatusCode == http.StatusOK {
		if err := protojson.Unmarshal(data, m); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	}
	return got.StatusCode, strings.ReplaceAll(string(data), " ", "")
}

// TestJSON sends what gubernator's documentation and tests send.
func TestJSON(t *testing.T) {
	a := &asked{answer: func(r limit.Request) limit.Result { return decision(r.Cost < 3, 7) }}
	d := door(t, Config{Limiter: a, Peers: func() int { return 10 }, Advertise: "10.0.0.1:7700"})
	for _, tt := range []struct{ name, body, want string }{
		{
			"snake case, numbers and names",
			`{"requests":[{"name":"requests_per_sec","unique_key":"account:12345","hits":1,"limit":10,"duration":1000,"algorithm":"TOKEN_BUCKET","behavior":"NO_BATCHING"}]}`,
			`"status":"UNDER_LIMIT","limit":"10","remaining":"7"`,
		},
		{
			"camel case, texts and numbers of enumerations, and what is unknown",
			`{"requests":[{"name":"n","uniqueKey":"k","hits":"5","limit":"10","duration":"1000","algorithm":1,"behavior":34,"burst":20,"createdAt":"1","metadata":{"a":"b"},"other":[{}]}],"and":{"more":1}}`,
			`"status":"OVER_LIMIT","limit":"10","remaining":"7"`,
		},
		{"an item with an error", `{"requests":[{"name":"n"}]}`, `"error":"field'unique_key'cannotbeempty","metadata":{}`},
		{"no body", ``, `{"responses":[]}`},
		{"no items", `{}`, `{"responses":[]}`},
		{"null", `{"requests":null}`, `{"responses":[]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if code, answer := call(t, d, http.MethodPost, "/v1/GetRateLimits", tt.body, new(gubernatorpb.GetRateLimitsResp)); code != http.StatusOK || !strings.Contains(answer, tt.want) {
				t.Errorf("%d %s, want %s", code, answer, tt.want)
			}
		})
	}
	if code, answer := call(t, d, http.MethodGet, "/v1/HealthCheck", "", nil); code != http.StatusOK || answer != `{"status":"healthy","message":"","peer_count":10,"advertise_address":"10.0.0.1:7700"}` {
		t.Errorf("health: %d %s", code, answer)
	}
	if code, answer := call(t, d, http.MethodGet, "/v1/LiveCheck", "", nil); code != http.StatusOK || answer != `{}` {
		t.Errorf("live: %d %s", code, answer)
	}
}

// TestWrongJSON has the error of everything that is no request.
func TestWrongJSON(t *testing.T) {
	d := door(t, Config{Limiter: &asked{answer: allowed}})
	many := func(n int) string { return `{"requests":[` + strings.TrimSuffix(strings.Repeat(`{},`, n), ",") + `]}` }
	for _, tt := range []struct {
		name, method, path, body string
		code                     int
		want                     string
	}{
		{"no JSON", "POST", "/v1/GetRateLimits", `hits=1`, 400, `"code":3,"message":"invalidcharacter'h'`},
		{"half", "POST", "/v1/GetRateLimits", `{"requests":[{`, 400, `"code":3,"message":"unexpectedEOF`},
		{"half of a list", "POST", "/v1/GetRateLimits", `{"requests":[`, 400, `"code":3,`},
		{"a list", "POST", "/v1/GetRateLimits", `[]`, 400, `"thebodyisnoobject:send{\"requests\":[…]}"`},
		{"no list", "POST", "/v1/GetRateLimits", `{"requests":{}}`, 400, `"requests:isnolist"`},
		{"twice", "POST", "/v1/GetRateLimits", `{"requests":[],"requests":[]}`, 400, `"requests:standstwice"`},
		{"more behind it", "POST", "/v1/GetRateLimits", `{"requests":[]}{}`, 400, `"somethingfollowstherequest:sendoneobject"`},
		{"an item that is none", "POST", "/v1/GetRateLimits", `{"requests":[{},7]}`, 400, `"requests[1]:proto:`},
		{"a wrong number", "POST", "/v1/GetRateLimits", `{"requests":[{"hits":"many"}]}`, 400, `"requests[0]:proto:`},
		{"an unknown algorithm", "POST", "/v1/GetRateLimits", `{"requests":[{"algorithm":"GCRA"}]}`, 400, `"requests[0]:algorithm:\"GCRA\"isnoneofLEAKY_BUCKET,TOKEN_BUCKET;`},
		{"several behaviors by name", "POST", "/v1/GetRateLimits", `{"requests":[{"behavior":"GLOBAL|RESET_REMAINING"}]}`, 400, `"requests[0]:behavior:\"GLOBAL|RESET_REMAINING\"isnoneofBATCHING,`},
		{"no UTF-8", "POST", "/v1/GetRateLimits", "{\"requests\":[{\"name\":\"\xff\"}]}", 400, `UTF-8`},
		{"too many", "POST", "/v1/GetRateLimits", many(1001), 400, `{"code":11,"message":"Requests.RateLimitslisttoolarge;maxsizeis'1000'","details":[]}`},
		{"as many as can be", "POST", "/v1/GetRateLimits", many(1000), 200, `"error":"field'unique_key'cannotbeempty"`},
		{"too long", "POST", "/v1/GetRateLimits", `{"x":"` + strings.Repeat("x", maxBody) + `"}`, 413, `"code":11,"message":"thebodyistoolong:atmost1048576bytes"`},
		{"read", "GET", "/v1/GetRateLimits", "", 405, `"code":12,"message":"/v1/GetRateLimitstakesPOSTonly"`},
		{"write", "POST", "/v1/HealthCheck", "", 405, `"code":12,"message":"/v1/HealthChecktakesGETonly"`},
		{"elsewhere", "GET", "/v1/peer.GetPeerRateLimits", "", 404, `"code":5,`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if code, answer := call(t, d, tt.method, tt.path, tt.body, nil); code != tt.code || !strings.Contains(answer, tt.want) {
				t.Errorf("%d %.300s, want %d %s", code, answer, tt.code, tt.want)
			}
		})
	}
	sick := door(t, Config{Limiter: &asked{}, Ready: func() error { return errors.New("its clock is off") }})
	if code, answer := call(t, sick, http.MethodGet, "/v1/HealthCheck", "", nil); code != http.StatusServiceUnavailable || !strings.Contains(answer, `"code":14,"message":"itsclockisoff"`) {
		t.Errorf("of a node that decides nothing: %d %s", code, answer)
	}
}

// FuzzBody compares the reader with protobuf's, and finds that it reads no more items than there may be. Of what protobuf's takes,
// it may refuse what is no JSON, such as the number 0e (RFC 8259, section 6).
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"requests":null}`, `{"requests":[]}`, `{"requests":[{"name":"n","unique_key":"k","hits":1}]}`, `{"requests":[{}],"x":{"y":[1]}}`,
		`{"requests":[{}],"requests":[]}`, `{"requests":[{}]}x`, `[]`, `null`, `{"requests":[{"metadata":{"a":"b"}}]}`, `{"Requests":[{}]}`, `{"requests":[{"algorithm":"LEAKY_BUCKET","behavior":"x"}]}`, "{\"requests\":[{\"name\":\"\xff\"}]}",
		`{"x":[{"y":0e}]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := readBody(strings.NewReader(body))
		want := new(gubernatorpb.GetRateLimitsReq)
		theirs := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(body), want)
		switch {
		case err == nil && len(got.GetRequests()) > gubernatorpb.MaxItems:
			t.Errorf("%d items are read", len(got.GetRequests()))
		case err == nil && theirs == nil && !proto.Equal(got, want):
			t.Errorf("%q is read as %v, and is %v", body, got, want)
		case err != nil && strings.Contains(err.Error(), "stands twice"): // they take a null beside it
		case err != nil && strings.Contains(err.Error(), "is none of"): // they take it for the first
		case err != nil && theirs == nil && json.Valid([]byte(body)) && len(want.GetRequests()) <= gubernatorpb.MaxItems:
			t.Errorf("%q is refused (%v), and is %v", body, err, want)
		}
	})
}

// TestMetrics counts items by outcome, and refused calls.
func TestMetrics(t *testing.T) {
	a := &asked{answer: func(r limit.Request) limit.Result {
		if r.Key == "lost" {
			return limit.Result{Err: limit.ErrUnavailable}
		}
		return decision(r.Cost < 3, 7)
	}}
	registry := prometheus.NewRegistry()
	d := door(t, Config{Limiter: a, Registerer: registry})
	item := func(key string, hits int) string {
		return fmt.Sprintf(`{"name":"n","unique_key":%q,"hits":%d,"limit":5,"duration":1000}`, key, hits)
	}
	call(t, d, http.MethodPost, "/v1/GetRateLimits", `{"requests":[`+strings.Join([]string{item("k", 1), item("k", 1), item("k", 5), item("", 1), item("lost", 1)}, ",")+`]}`, nil)
	call(t, d, http.MethodPost, "/v1/GetRateLimits", `{`, nil)
	got := map[string]float64{}
	for _, m := range metricstest.Gather(t, registry, "jeton_door_gubernator_items_total") {
		got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	if want := map[string]float64{underLimit: 2, overLimit: 1, invalid: 1, undecided: 1}; !maps.Equal(got, want) {
		t.Errorf("items by outcome: %v, want %v", got, want)
	}
	if refused := metricstest.Gather(t, registry, "jeton_door_gubernator_refused_total")[0].GetCounter().GetValue(); refused != 1 {
		t.Errorf("%v calls were refused, want 1", refused)
	}
	if _, err := New(Config{Limiter: a, Registerer: registry}); err == nil {
		t.Error("metrics were registered twice")
	}
}

// An error quotes no more than a little of what was sent.
func TestErrorsAreShort(t *testing.T) {
	d, err := New(Config{Limiter: noop{}})
	if err != nil {
		t.Fatal(err)
	}
	body := `{"requests":[{"hits":"` + strings.Repeat("a", 100_000) + `"}]}`
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/GetRateLimits", strings.NewReader(body)))
	if w.Code != http.StatusBadRequest || w.Body.Len() > 2*longestMessage {
		t.Errorf("%d with %d bytes", w.Code, w.Body.Len())
	}
}
