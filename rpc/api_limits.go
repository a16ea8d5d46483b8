package rpc

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
)

// limitsBy is who answers what is asked of /v1/limits.
func (a *api) limitsBy(r *http.Request) answerer {
	answerers := map[string]answerer{http.MethodGet: a.limits, http.MethodHead: a.limits}
	switch {
	case a.Cluster != nil:
		answerers[http.MethodPut] = a.putLimits
	case r.Method == http.MethodPut:
		return refuse(errLimitsFile)
	}
	return method(r, answerers)
}

// limits answers GET /v1/limits. In a cluster the version stands in ETag.
func (a *api) limits(*http.Request) (reply, error) {
	out := reply{status: http.StatusOK, body: a.Limits()}
	if a.Cluster != nil {
		out.header = http.Header{"Etag": {etag(a.Cluster.State().LimitsVersion)}}
	}
	return out, nil
}

func etag(version uint64) string { return strconv.Quote(strconv.FormatUint(version, 10)) }

// putLimits answers PUT /v1/limits: the whole document, in YAML or JSON. With If-Match it takes effect only if that
// version is in force.
func (a *api) putLimits(r *http.Request) (reply, error) {
	version := uint64(0)
	if match := r.Header.Get("If-Match"); match != "" && match != "*" {
		n, err := strconv.ParseUint(strings.Trim(match, `"`), 10, 64)
		if err != nil || n == 0 {
			return reply{}, &limit.FieldError{Field: "If-Match", Problem: "is not a version such as \"3\", which GET /v1/limits answers as ETag"}
		}
		version = n
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return reply{}, errTooLarge
	}
	if _, err := limit.ParseDocument(text); err != nil {
		return reply{}, &limit.FieldError{Field: "document", Problem: err.Error()}
	}
	applied, err := applyLimits(r.Context(), a.Cluster, text, version, false)
	switch {
	case status.Code(err) == codes.Aborted:
		return reply{}, &problem{
			Name: "limits-changed", Title: "The limits were changed meanwhile", Status: http.StatusPreconditionFailed,
			Detail: status.Convert(err).Message(),
		}
	case status.Code(err) == codes.Unavailable:
		return reply{}, &problem{
			Name: "unavailable", Title: "The cluster cannot be changed at present", Status: http.StatusServiceUnavailable,
			Detail: status.Convert(err).Message(),
		}
	case err != nil:
		return reply{}, err
	}
	body := struct {
		Version uint64   `json:"version,string"`
		Added   []string `json:"added"`
		Changed []string `json:"changed"`
		Removed []string `json:"removed"`
	}{applied.GetVersion(), orEmpty(applied.GetAdded()), orEmpty(applied.GetChanged()), orEmpty(applied.GetRemoved())}
	return reply{status: http.StatusOK, body: body, header: http.Header{"Etag": {etag(applied.GetVersion())}}}, nil
}

func orEmpty(names []string) []string { return append([]string{}, names...) }
