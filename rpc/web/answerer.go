package web

import (
	"maps"
	"net/http"
	"slices"
)

// An answerer answers one request.
type answerer func(*http.Request) (reply, error)

// method picks the answerer of r's method.
func method(r *http.Request, answerers map[string]answerer) answerer {
	if answer, ok := answerers[r.Method]; ok {
		return answer
	}
	return refuse(wrongMethod(r.Method, slices.Sorted(maps.Keys(answerers))))
}

func refuse(err error) answerer {
	return func(*http.Request) (reply, error) { return reply{}, err }
}
