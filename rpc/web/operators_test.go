package web

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
)

// An asked notes what operators ask for, and answers with err.
type asked struct {
	said *string
	was  bool
	err  error
}

func (a asked) Fill(_ context.Context, name, key string) error {
	*a.said = fmt.Sprintf("fill %s %q", name, key)
	return a.err
}

func (a asked) SetOverride(_ context.Context, o limit.Override, within time.Duration) error {
	*a.said = fmt.Sprintf("set %s %q %s %v", o.Limit, o.Key, o.Says, within)
	return a.err
}

func (a asked) UnsetOverride(_ context.Context, name, key string) (bool, error) {
	*a.said = fmt.Sprintf("unset %s %q", name, key)
	return a.was, a.err
}

func TestOperatorsOverHTTP(t *testing.T) {
	for _, tt := range []struct {
		method, path, body string
		said               string
	}{
		{"POST", "/v1/fill", `{"limit":"demo","key":"user:ä<b>"}`, `fill demo "user:ä<b>"`},
		{"PUT", "/v1/overrides", `{"limit":"demo","key":"user:*","says":"deny","for":"10m"}`, `set demo "user:*" deny 10m0s`},
		{"PUT", "/v1/overrides", `{"limit":"demo","key":"k","says":"capacity: 5"}`, `set demo "k" capacity: 5 0s`},
		{"DELETE", "/v1/overrides?limit=demo&key=a%26b%00", "", `unset demo "a&b\x00"`},
	} {
		said := ""
		ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{}, Operator: asked{said: &said, was: true}})
		if got := ask(tt.method, tt.path, tt.body); got.StatusCode != http.StatusNoContent || said != tt.said {
			t.Errorf("%s %s: %d %s, asked for %q, want %q", tt.method, tt.path, got.StatusCode, got.body, said, tt.said)
		}
	}
}

func TestBadRequestsOfOperators(t *testing.T) {
	for _, tt := range []struct {
		method, path, body string
		err                error
		status             int
		field, says        string
	}{
		{"POST", "/v1/fill", `{"limit":"demo","kye":"k"}`, nil, 400, "kye", "did you mean"},
		{"POST", "/v1/fill", `{`, nil, 400, "body", ""},
		{"POST", "/v1/fill", `{"limit":"demi","key":"k"}`, limit.ErrUnknownLimit, 404, "", "did you mean"},
		{"POST", "/v1/fill", `{"limit":"demo","key":""}`, &limit.FieldError{Field: "key", Problem: "is missing"}, 400, "key", "is missing"},
		{"GET", "/v1/fill", "", nil, 405, "", "use POST"},
		{"PUT", "/v1/overrides", `{"limit":"demo","key":"k","says":"deny","for":"soon"}`, nil, 400, "for", "such as 10m"},
		{"PUT", "/v1/overrides", `{"limit":"demo","key":"k","says":"deny","for":"-1s"}`, nil, 400, "for", "such as 10m"},
		{"PUT", "/v1/overrides", `{"limit":"demo","key":"k","sais":"deny"}`, nil, 400, "sais", `did you mean "says"?`},
		{"PUT", "/v1/overrides", `{"limit":"demo","key":"k","says":"deny"}`, status.Error(codes.FailedPrecondition, "this node is alone"), 409, "", "this node is alone"},
		{"PUT", "/v1/overrides", `{"limit":"demo","key":"k","says":"deny"}`, status.Error(codes.Unavailable, "no leader"), 503, "", "no leader"},
		{"PUT", "/v1/overrides", `{"limit":"demo","key":"k","says":"x"}`, status.Error(codes.InvalidArgument, "says: x"), 400, "", "says: x"},
		{"DELETE", "/v1/overrides?limit=demo&key=k", "", nil, 404, "", "no override of"},
		{"DELETE", "/v1/overrides?limit=demo&key=k&key=l", "", nil, 400, "query", "the parameters are"},
		{"DELETE", "/v1/overrides?limit=demo&kye=k", "", nil, 400, "query", "the parameters are"},
		{"DELETE", "/v1/overrides?limit=demo&key=%ff", "", nil, 400, "key", "is not valid UTF-8"}, // raft would make another key of it
		{"GET", "/v1/overrides", "", nil, 404, "", "this node is alone"},
	} {
		said := ""
		ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{}, Operator: asked{said: &said, err: tt.err}})
		wantProblem(t, ask(tt.method, tt.path, tt.body), tt.status, tt.field, tt.says)
	}
	ask := serveAPI(t, APIConfig{Limiter: conformance.Stub{}})
	wantProblem(t, ask("POST", "/v1/fill", `{"limit":"demo","key":"k"}`), 404, "", "use POST /v1/check")
	wantProblem(t, ask("PUT", "/v1/overrides", `{"limit":"demo","key":"k","says":"deny"}`), 404, "", "this node is alone")
}
