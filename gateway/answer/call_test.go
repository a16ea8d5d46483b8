package answer_test

import (
	"net/http"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/jeton-dev/jeton/gateway/answer"
	"github.com/jeton-dev/jeton/gateway/config"
)

// A call that is refused is answered by a header and nothing else, whatever the configuration says of other clients.
func TestRefusedCall(t *testing.T) {
	for _, c := range []struct {
		refusal                   answer.Refusal
		status, message, pushback string
	}{
		{answer.Refusal{Kind: answer.Unavailable, Call: codes.Unavailable, Detail: "later"}, "14", "later", "1000"},
		{answer.Refusal{Kind: answer.Unidentified, Call: codes.Unauthenticated, Detail: "who?", ID: "a-1"}, "16", "who? (a-1)", "-1"},
		{answer.Refusal{Kind: answer.BadRequest, Call: codes.InvalidArgument, Detail: "100 %,\nü"}, "3", "100 %25,%0A%C3%BC", "-1"},
	} {
		rec := refuse(t, config.Answer{Status: 599, Redirect: "https://h"}, &c.refusal)
		h := rec.Header()
		if rec.Code != http.StatusOK || rec.Body.Len() != 0 || h.Get("Location") != "" || h.Get("Content-Type") != "application/grpc" {
			t.Errorf("%d, %v, %q", rec.Code, h, rec.Body)
		}
		if h.Get("Grpc-Status") != c.status || h.Get("Grpc-Message") != c.message || h.Get("Grpc-Retry-Pushback-Ms") != c.pushback {
			t.Errorf("%v, want %s, %q and %s", h, c.status, c.message, c.pushback)
		}
	}
}

// The status of an answer is known with its header, but for a call of gRPC that has messages.
func TestResult(t *testing.T) {
	for _, c := range []struct {
		what, contentType, inHeader, inTrailer string
		sent, status                           int
		known, atLast                          bool
	}{
		{"no call", "text/html", "", "7", 503, 503, true, true},
		{"a call without messages", "application/grpc", "16", "", 200, 401, true, true},
		{"a call under way", "application/grpc+proto", "", "", 200, 500, false, true},
		{"a call at its end", "application/grpc", "", "14", 200, 503, true, true},
		{"a status that nobody knows", "application/grpc", "", "77", 200, 500, true, true},
		{"no number", "application/grpc", "", "fine", 200, 500, false, true},
		{"a proxy in between", "application/grpc", "", "", 502, 502, true, true},
	} {
		r := &http.Response{
			StatusCode: c.sent, Trailer: http.Header{"Grpc-Status": {c.inTrailer}},
			Header: http.Header{"Content-Type": {c.contentType}, "Grpc-Status": {c.inHeader}},
		}
		if status, known := answer.Result(r, false); known != c.known || known && status != c.status {
			t.Errorf("%s: %d, %v", c.what, status, known)
		}
		if status, known := answer.Result(r, true); known != c.atLast || status != c.status {
			t.Errorf("%s, at its end: %d, %v", c.what, status, known)
		}
	}
	for code, want := range []int{200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401} {
		if got := answer.StatusOf(codes.Code(code)); got != want {
			t.Errorf("%v is %d, want %d", codes.Code(code), got, want)
		}
	}
}
