package web

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
)

// An Operator does what operators ask for, and has the audit log say so, as the calls of jeton.v1.Admin with the same names do. The
// errors are *limit.FieldErrors, those of the vocabulary, or have gRPC codes.
type Operator interface {
	// Fill fills a bucket of a stored limit, after the audit log has it.
	Fill(ctx context.Context, name, key string) error
	// SetOverride sets an override of a stored limit, in the place of the one of the same key. After within it ends; 0 is never.
	SetOverride(ctx context.Context, o limit.Override, within time.Duration) error
	// UnsetOverride takes one away. was is whether there was one.
	UnsetOverride(ctx context.Context, name, key string) (was bool, err error)
}

// fill answers POST /v1/fill.
func (a *api) fill(r *http.Request) (reply, error) {
	var asked struct {
		Limit string `json:"limit"`
		Key   string `json:"key"`
	}
	if err := readJSON(r, &asked); err != nil {
		return reply{}, wrongFieldOf("a fill", []string{"limit", "key"}, err)
	}
	if err := a.Operator.Fill(r.Context(), asked.Limit, asked.Key); err != nil {
		return reply{}, a.operating(err, asked.Limit)
	}
	return reply{status: http.StatusNoContent}, nil
}

// overridesBy is who answers what is asked of /v1/overrides.
func (a *api) overridesBy(r *http.Request) answerer {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if a.Operator == nil || a.Stored == nil && reads {
		return a.ofCluster(r, a.overrides)
	}
	return method(r, map[string]answerer{
		http.MethodGet: a.overrides, http.MethodHead: a.overrides, http.MethodPut: a.setOverride, http.MethodDelete: a.unsetOverride,
	})
}

// setOverride answers PUT /v1/overrides.
func (a *api) setOverride(r *http.Request) (reply, error) {
	var asked struct {
		Limit string `json:"limit"`
		Key   string `json:"key"`
		Says  string `json:"says"`
		For   string `json:"for"`
	}
	if err := readJSON(r, &asked); err != nil {
		return reply{}, wrongFieldOf("an override", []string{"limit", "key", "says", "for"}, err)
	}
	var within time.Duration
	if asked.For != "" {
		var err error
		if within, err = time.ParseDuration(asked.For); err != nil || within <= 0 {
			return reply{}, &limit.FieldError{Field: "for", Problem: limit.Quote(asked.For) + " is not a time such as 10m: leave it out for an override without an end"}
		}
	}
	if err := a.Operator.SetOverride(r.Context(), limit.Override{Limit: asked.Limit, Key: asked.Key, Says: asked.Says}, within); err != nil {
		return reply{}, a.operating(err, asked.Limit)
	}
	return reply{status: http.StatusNoContent}, nil
}

// unsetOverride answers DELETE /v1/overrides?limit=…&key=….
func (a *api) unsetOverride(r *http.Request) (reply, error) {
	query, err := parameters(r, "the parameters are limit and key, as in ?limit=login&key=user:42", "limit", "key")
	if err != nil {
		return reply{}, err
	}
	name, key := query.Get("limit"), query.Get("key")
	was, err := a.Operator.UnsetOverride(r.Context(), name, key)
	switch {
	case err != nil:
		return reply{}, a.operating(err, name)
	case !was:
		return reply{}, &Problem{
			Name: "no-override", Title: "There is no such override", Status: http.StatusNotFound,
			Detail: fmt.Sprintf("no override of %s is set for %s: GET /v1/overrides shows those that are", limit.Quote(name), limit.Quote(key)),
		}
	}
	return reply{status: http.StatusNoContent}, nil
}

// operating is the error of what an operator has asked for about a limit.
func (a *api) operating(err error, name string) error {
	p := &Problem{Detail: status.Convert(err).Message()}
	switch status.Code(err) {
	case codes.FailedPrecondition:
		p.Name, p.Title, p.Status = "refused", "This cannot be done as things are", http.StatusConflict
	case codes.InvalidArgument:
		p.Name, p.Title, p.Status = "invalid-request", "The request is not valid", http.StatusBadRequest
	case codes.Unavailable:
		p.Name, p.Title, p.Status = "unavailable", "The cluster cannot change anything now", http.StatusServiceUnavailable
	default:
		return a.unknownLimit(err, limit.Named(name))
	}
	return p
}
