package rls

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
)

// What a request in JSON may have at most. A message takes many times the bytes of its JSON.
const (
	maxJSON     = 64 << 10 // bytes
	maxBrackets = 10_000   // that open an object or a list
)

// JSON answers the same requests and answers as JSON, for clients that do not speak gRPC: 200 with an answer that admits, 429 with one that denies, 400 for a request that can never be
// decided, and 500 where nothing was decided.
func (d *Door) JSON() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxJSON))
		if err != nil {
			what := "the request was not read to its end"
			if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
				what = "the request has more than 64 KiB"
			}
			http.Error(w, what, http.StatusBadRequest)
			return
		}
		if bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) > maxBrackets {
			http.Error(w, fmt.Sprintf("the request has more than %d objects and lists", maxBrackets), http.StatusBadRequest)
			return
		}
		var request ratelimitv3.RateLimitRequest
		if err := protojson.Unmarshal(body, &request); err != nil {
			http.Error(w, "the request is no RateLimitRequest in JSON: "+err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := service{door: d}.ShouldRateLimit(r.Context(), &request)
		if err != nil {
			code := http.StatusInternalServerError
			if status.Code(err) == codes.InvalidArgument {
				code = http.StatusBadRequest
			}
			http.Error(w, status.Convert(err).Message(), code)
			return
		}
		text, err := protojson.Marshal(answer)
		if err != nil {
			http.Error(w, "the answer cannot be written as JSON: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if answer.GetOverallCode() == overLimit {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		_, _ = w.Write(text) // the client may be gone
	})
}
