package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
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

// wrongMethod is the problem of a request whose path takes other methods.
func wrongMethod(sent string, takes []string) *problem {
	allow := strings.Join(takes, ", ")
	return &problem{
		Name: "method-not-allowed", Title: "This path does not support this method", Status: http.StatusMethodNotAllowed,
		Detail: fmt.Sprintf("%s is not supported here: use %s", limit.Quote(sent), allow), allow: allow,
	}
}

func refuse(err error) answerer {
	return func(*http.Request) (reply, error) { return reply{}, err }
}
