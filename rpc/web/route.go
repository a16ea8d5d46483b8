package web

import (
	"net/http"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/access"
)

// route finds who answers r, and the name of its route in the metrics. No answerer means that r is for APIConfig.Other.
func (a *api) route(r *http.Request) (string, answerer) {
	path := r.URL.EscapedPath()
	if !strings.HasPrefix(path, apiPrefix) {
		if a.Other != nil {
			return "", nil
		}
		return "other", refuse(notFound(access.NodeHTTP))
	}
	switch path {
	case "/v1/check":
		return path, method(r, map[string]answerer{http.MethodPost: a.check})
	case "/v1/check-all":
		return path, method(r, map[string]answerer{http.MethodPost: a.checkAll})
	case "/v1/hold":
		return path, method(r, map[string]answerer{http.MethodPost: a.hold})
	case "/v1/settle":
		return path, method(r, map[string]answerer{http.MethodPost: a.settle})
	case "/v1/extend":
		return path, method(r, map[string]answerer{http.MethodPost: a.extend})
	case "/v1/return":
		return path, method(r, map[string]answerer{http.MethodPost: a.giveBack})
	case limitsPath:
		return path, a.limitsBy(r)
	case auditPath:
		return path, a.ofCluster(r, a.audit)
	case fillPath:
		if a.Operator == nil {
			return "other", refuse(notFound(access.NodeHTTP))
		}
		return path, method(r, map[string]answerer{http.MethodPost: a.fill})
	case overridesPath:
		return path, a.overridesBy(r)
	case historyPath:
		return path, a.ofCluster(r, a.history)
	}
	rest, ok := strings.CutPrefix(path, bucketPrefix)
	if !ok {
		return "other", refuse(notFound(access.NodeHTTP))
	}
	name, key, err := limit.ParseBucketPath(rest)
	if err != nil {
		return bucketPrefix, refuse(err)
	}
	inspect := a.inspect(name, key)
	return bucketPrefix, method(r, map[string]answerer{
		http.MethodGet: inspect, http.MethodHead: inspect, http.MethodDelete: a.reset(name, key),
	})
}
