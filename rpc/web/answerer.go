package web

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/access"
)

// Paths, and prefixes of paths.
const (
	apiPrefix     = "/v1/"
	consolePrefix = "/console/"
	bucketPrefix  = apiPrefix + "buckets/"
	limitsPath    = apiPrefix + "limits"
	historyPath   = limitsPath + "/history"
	auditPath     = apiPrefix + "audit"
	overridesPath = apiPrefix + "overrides"
	fillPath      = apiPrefix + "fill"
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

// wrongMethod is the problem of a request with a method that its path does not take.
func wrongMethod(sent string, takes []string) *Problem {
	return MethodNotAllowed(fmt.Sprintf("%s is not supported here: use %s", limit.Quote(sent), strings.Join(takes, ", ")), takes...)
}

// notFound is the problem of a request whose path a door does not have.
func notFound(at access.Door) *Problem {
	return &Problem{
		Name: "not-found", Title: "No route matches this path", Status: http.StatusNotFound,
		Detail: "use " + access.Calls(at, apiPrefix) + "; GET / lists all paths",
	}
}
