package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
)

// check answers POST /v1/check.
func (a *api) check(r *http.Request) (reply, error) {
	var request limit.Request
	if err := readJSON(r, &request); err != nil {
		return reply{}, wrongField(err)
	}
	return a.decide(r, request)
}

// decide has a check decided.
func (a *api) decide(r *http.Request, request limit.Request) (reply, error) {
	d, err := a.Limiter.Check(r.Context(), request)
	if err != nil {
		return reply{}, a.unknownLimit(asWritten(err, request), request.Limits...)
	}
	return decided(d, d.Allowed, d.RetryAfterSeconds), nil
}

// checkAll answers POST /v1/check-all.
func (a *api) checkAll(r *http.Request) (reply, error) {
	var request limit.AllRequest
	if err := readJSON(r, &request); err != nil {
		return reply{}, wrongFieldOfAll(err)
	}
	d, err := a.Limiter.CheckAll(r.Context(), request.Checks)
	if err != nil {
		var asked []limit.Ref
		for _, c := range request.Checks {
			asked = append(asked, c.Limits...)
		}
		return reply{}, a.unknownLimit(asWrittenOfAll(err, request.Checks), asked...)
	}
	return decided(d, d.Allowed, d.RetryAfterSeconds), nil
}

// decided is the reply that a decision is.
func decided(d any, allowed bool, retryAfter func() (int64, bool)) reply {
	if allowed {
		return reply{status: http.StatusOK, body: d}
	}
	out := reply{status: http.StatusTooManyRequests, body: d, header: http.Header{}}
	if seconds, ok := retryAfter(); ok {
		out.header.Set("Retry-After", fmt.Sprint(seconds))
	}
	return out
}

// giveBack answers POST /v1/return.
func (a *api) giveBack(r *http.Request) (reply, error) {
	var in limit.Return
	if err := readJSON(r, &in); err != nil {
		return reply{}, err
	}
	returned, err := a.Limiter.Return(r.Context(), in.Key, in.Receipts)
	if err != nil {
		return reply{}, err
	}
	out := struct {
		Returned []bool `json:"returned"`
	}{append([]bool{}, returned...)}
	return reply{status: http.StatusOK, body: out}, nil
}

// inspect answers GET /v1/buckets/{limit}/{key...}?plan=pro.
func (a *api) inspect(name, key string) answerer {
	return func(r *http.Request) (reply, error) {
		in, err := a.Limiter.Inspect(r.Context(), key, limit.Named(name), r.URL.Query().Get("plan"))
		if err != nil {
			return reply{}, a.unknownLimit(err, limit.Named(name))
		}
		return reply{status: http.StatusOK, body: in}, nil
	}
}

// reset answers DELETE /v1/buckets/{limit}/{key...}.
func (a *api) reset(name, key string) answerer {
	return func(r *http.Request) (reply, error) {
		if err := a.Resetter.Reset(r.Context(), key, limit.Named(name)); err != nil {
			return reply{}, a.unknownLimit(err, limit.Named(name))
		}
		return reply{status: http.StatusNoContent}, nil
	}
}

// readJSON reads the body of r into v, whatever its Content-Type.
func readJSON(r *http.Request, v any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	return limit.DecodeJSON(body, v)
}

// readBody is the body of r, which is UTF-8.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, &limit.FieldError{Field: "body", Problem: "did not arrive whole: " + err.Error()}
	}
	if !utf8.Valid(body) { // it would be read as something else
		return nil, &limit.FieldError{Field: "body", Problem: "is not valid UTF-8"}
	}
	return body, nil
}
