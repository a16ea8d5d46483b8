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
	d, err := a.Limiter.Check(r.Context(), request)
	if err != nil {
		return reply{}, a.unknownLimit(err, request.Limits...)
	}
	if d.Allowed {
		return reply{status: http.StatusOK, body: d}, nil
	}
	out := reply{status: http.StatusTooManyRequests, body: d, header: http.Header{}}
	if seconds, ok := d.RetryAfterSeconds(); ok {
		out.header.Set("Retry-After", fmt.Sprint(seconds))
	}
	return out, nil
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

// inspect answers GET /v1/buckets/{limit}/{key...}.
func (a *api) inspect(name, key string) answerer {
	return func(r *http.Request) (reply, error) {
		in, err := a.Limiter.Inspect(r.Context(), key, limit.Named(name))
		if err != nil {
			return reply{}, a.unknownLimit(err, limit.Named(name))
		}
		return reply{status: http.StatusOK, body: in}, nil
	}
}

// reset answers DELETE /v1/buckets/{limit}/{key...}.
func (a *api) reset(name, key string) answerer {
	return func(r *http.Request) (reply, error) {
		if err := a.Limiter.Reset(r.Context(), key, limit.Named(name)); err != nil {
			return reply{}, a.unknownLimit(err, limit.Named(name))
		}
		return reply{status: http.StatusNoContent}, nil
	}
}

// readJSON reads the body of r into v, whatever its Content-Type.
func readJSON(r *http.Request, v any) error {
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return errTooLarge
	}
	if err != nil {
		return &limit.FieldError{Field: "body", Problem: "did not arrive whole: " + err.Error()}
	}
	if !utf8.Valid(body) { // it would be read as something else
		return &limit.FieldError{Field: "body", Problem: "is not valid UTF-8"}
	}
	return limit.DecodeJSON(body, v)
}
