package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"

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
	query, err := parameters(r, "the only parameters are limit and after, as in ?limit=login&after=login%20user:42", "limit", "after")
	if err != nil {
		return reply{}, err
	}
	page, err := a.Stored.Overrides(query.Get("limit"), query.Get("after"))
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: page}, nil
}

// parameters are those of a request, each at most once, in UTF-8. Others are an error that says what it may have.
func parameters(r *http.Request, has string, names ...string) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	for name, values := range query {
		if !slices.Contains(names, name) || len(values) != 1 {
			return nil, &limit.FieldError{Field: "query", Problem: has}
		}
		if !utf8.ValidString(values[0]) { // it would become something else on its way
			return nil, &limit.FieldError{Field: name, Problem: "is not valid UTF-8"}
		}
	}
	if err != nil {
		return nil, &limit.FieldError{Field: "query", Problem: has}
	}
	return query, nil
}

// number is the one parameter that a request may have, from 1 to 2³¹−1; 0 if it has none.
func number(r *http.Request, name string) (uint32, error) {
	query, err := parameters(r, "the only parameter is "+name+", as in ?"+name+"=20", name)
	said := query.Get(name)
	if err != nil || said == "" {
		return 0, err
	}
	n, err := strconv.ParseUint(said, 10, 31)
	if err != nil || n == 0 {
		return 0, &limit.FieldError{Field: name, Problem: limit.Quote(said) + " is no number from 1 on"}
	}
	return uint32(n), nil
}
