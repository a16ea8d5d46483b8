package web

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/jeton-dev/jeton/actor/limit"
)

// ofCluster is who answers a question that only a cluster can.
func (a *api) ofCluster(r *http.Request, answer answerer) answerer {
	if a.Stored == nil {
		return refuse(&Problem{
			Name: "alone", Title: "There is no cluster", Status: http.StatusNotFound, Detail: "this node is alone: only a cluster keeps an audit log and a history",
		})
	}
	return method(r, map[string]answerer{http.MethodGet: answer, http.MethodHead: answer})
}

// audit answers GET /v1/audit.
func (a *api) audit(r *http.Request) (reply, error) {
	last, err := number(r, "last")
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: a.Stored.Audit(int(last))}, nil
}

// history answers GET /v1/limits/history.
func (a *api) history(r *http.Request) (reply, error) {
	version, err := number(r, "version")
	if err != nil {
		return reply{}, err
	}
	editions, err := a.Stored.History(uint64(version))
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: editions}, nil
}

// overrides answers GET /v1/overrides.
func (a *api) overrides(r *http.Request) (reply, error) {
	name, err := parameter(r, "limit", "login")
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: a.Stored.Overrides(name)}, nil
}

// parameter is the one parameter that a request may have, as in the example; empty if it has none.
func parameter(r *http.Request, name, example string) (string, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(query) > 1 || len(query) == 1 && len(query[name]) != 1 {
		return "", &limit.FieldError{Field: "query", Problem: "the only parameter is " + name + ", as in ?" + name + "=" + example}
	}
	return query.Get(name), nil
}

// number is the one parameter that a request may have, from 1 to 2³¹−1; 0 if it has none.
func number(r *http.Request, name string) (uint32, error) {
	said, err := parameter(r, name, "20")
	if err != nil || said == "" {
		return 0, err
	}
	n, err := strconv.ParseUint(said, 10, 31)
	if err != nil || n == 0 {
		return 0, &limit.FieldError{Field: name, Problem: limit.Quote(said) + " is no number from 1 on"}
	}
	return uint32(n), nil
}
