package web

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// limitsBy is who answers what is asked of /v1/limits.
func (a *api) limitsBy(r *http.Request) answerer {
	answerers := map[string]answerer{http.MethodGet: a.limits, http.MethodHead: a.limits}
	switch {
	case a.Stored != nil:
		answerers[http.MethodPut] = a.putLimits
	case r.Method == http.MethodPut:
		return refuse(errLimitsFile)
	}
	return method(r, answerers)
}

// limits answers GET /v1/limits. In a cluster the version stands in ETag.
func (a *api) limits(r *http.Request) (reply, error) {
	var header http.Header
	if a.Stored != nil {
		version, err := a.Stored.Version(r.Context())
		if err != nil {
			return reply{}, err
		}
		header = http.Header{"Etag": {etag(version)}}
	}
	text, err := a.shown.of(a.Limits())
	return reply{status: http.StatusOK, header: header, body: text}, err
}

// shownLimits are the limits that were asked for last, as JSON. To encode thousands of them takes tens of milliseconds, and a client may ask for them as
// often as it may check.
type shownLimits struct {
	last atomic.Pointer[shownDocument]
}

type shownDocument struct {
	document *limit.Document
	text     encoded
}

func (s *shownLimits) of(document *limit.Document) (encoded, error) {
	if last := s.last.Load(); last != nil && last.document == document {
		return last.text, nil
	}
	text, err := encode(document)
	if err == nil {
		s.last.Store(&shownDocument{document, text})
	}
	return text, err
}

func etag(version uint64) string { return strconv.Quote(strconv.FormatUint(version, 10)) }

// putLimits answers PUT /v1/limits: the whole document, in YAML or JSON. With If-Match it takes effect only if that version is in
// force, or any for *; without, only if the one is that it says it was made from. Only with ?remove=true are limits removed that
// it leaves out. With ?dry_run=true nothing takes effect: the answer is what would change.
func (a *api) putLimits(r *http.Request) (reply, error) {
	asked, err := askedToApply(r)
	if err != nil {
		return reply{}, err
	}
	applied, err := a.Stored.Apply(r.Context(), asked)
	if p := applyProblem(applied, err); p != nil {
		return reply{}, p
	}
	if err != nil {
		return reply{}, err
	}
	return reply{status: http.StatusOK, body: appliedJSON(applied), header: http.Header{"Etag": {etag(applied.GetVersion())}}}, nil
}

// askedToApply is what a PUT of limits asks for.
func askedToApply(r *http.Request) (*pb.ApplyLimitsRequest, error) {
	asked := &pb.ApplyLimitsRequest{}
	match := r.Header.Get("If-Match")
	if match != "" && match != "*" {
		n, err := strconv.ParseUint(strings.Trim(match, `"`), 10, 64)
		if err != nil || n == 0 {
			return nil, &limit.FieldError{Field: "If-Match", Problem: "is not a version such as \"3\", which GET /v1/limits answers as ETag"}
		}
		asked.Version = n
	}
	const has = "the parameters are remove=true, which removes the limits that the document leaves out, and dry_run=true, which only says what would change"
	query, err := parameters(r, has, "remove", "dry_run")
	if err != nil {
		return nil, err
	}
	for _, values := range query {
		if values[0] != "true" && values[0] != "false" {
			return nil, &limit.FieldError{Field: "query", Problem: has}
		}
	}
	asked.Remove, asked.DryRun = query.Get("remove") == "true", query.Get("dry_run") == "true"
	if err := limit.CheckSize(r.ContentLength); err != nil {
		return nil, tooLarge(err.Error())
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, errTooLarge
	}
	if _, err := limit.ParseDocument(text); err != nil {
		problem := strings.Replace(err.Error(), "document: ", "", 1) // which is the field
		if lines := lostLines(r, text); lines != "" {
			problem += ": " + lines
		}
		return nil, &limit.FieldError{Field: "document", Problem: problem}
	}
	if match == "*" {
		text, _, _ = limit.CutVersion(text)
	}
	asked.Document = string(text)
	return asked, nil
}

// lostLines says how a document came to be none, where the caller has probably sent a file in a way that does not keep it as it
// is: curl -d @FILE joins its lines, --data-urlencode escapes them, and -F wraps a form around them. It is empty for others.
func lostLines(r *http.Request, text []byte) string {
	const send = "send the file as it is, with curl -T limits.yaml or curl -X PUT --data-binary @limits.yaml"
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	text = bytes.TrimSpace(text)
	switch {
	case kind == "multipart/form-data":
		return "the body is a form: " + send
	case len(text) > 0 && text[0] != '{' && !bytes.ContainsAny(text, "\r\n"):
		return "the body is a single line, as curl -d makes of a file: " + send
	}
	return ""
}

// applyProblem is why limits were not applied, and what would have changed, where that has a problem of its own; nil where it has none.
func applyProblem(change *pb.ApplyLimitsResponse, err error) *Problem {
	p := &Problem{Detail: status.Convert(err).Message()}
	switch code := status.Code(err); {
	case code == codes.Aborted:
		p.Name, p.Title, p.Status = "limits-changed", "The limits have changed since", http.StatusPreconditionFailed
	case code == codes.FailedPrecondition && len(change.GetRemoved()) > 0:
		p.Name, p.Title, p.Status = "limits-left-out", "The document leaves out limits that are in force", http.StatusConflict
	case code == codes.FailedPrecondition:
		p.Name, p.Title, p.Status = "refused", "This cannot be done as things are", http.StatusConflict
	case code == codes.Unavailable:
		p.Name, p.Title, p.Status = "unavailable", "The cluster cannot change its limits now", http.StatusServiceUnavailable
	default:
		return nil
	}
	return p
}

// appliedJSON is what a PUT of limits has changed.
func appliedJSON(applied *pb.ApplyLimitsResponse) any {
	type change struct {
		Limit  string `json:"limit"`
		Field  string `json:"field"`
		Before string `json:"before,omitempty"`
		After  string `json:"after,omitempty"`
	}
	type use struct {
		Limit string `json:"limit"`
		AgoMS int64  `json:"ago_ms"`
	}
	type effect struct {
		Limit string `json:"limit"`
		Text  string `json:"text"`
	}
	body := struct {
		Version uint64   `json:"version,string"`
		Added   []string `json:"added"`
		Changed []string `json:"changed"`
		Removed []string `json:"removed"`
		Changes []change `json:"changes"`
		Used    []use    `json:"used,omitempty"`
		Silent  []string `json:"silent,omitempty"`
		Effects []effect `json:"effects"`
	}{
		Version: applied.GetVersion(), Added: orEmpty(applied.GetAdded()), Changed: orEmpty(applied.GetChanged()),
		Removed: orEmpty(applied.GetRemoved()), Changes: []change{}, Silent: applied.GetSilent(), Effects: []effect{},
	}
	for _, c := range applied.GetChanges() {
		body.Changes = append(body.Changes, change{c.GetLimit(), c.GetField(), c.GetBefore(), c.GetAfter()})
	}
	for _, e := range applied.GetEffects() {
		body.Effects = append(body.Effects, effect{e.GetLimit(), e.GetText()})
	}
	for _, u := range applied.GetUsed() {
		body.Used = append(body.Used, use{u.GetLimit(), time.Duration(u.GetAgoNs()).Milliseconds()})
	}
	return body
}

func orEmpty(names []string) []string { return append([]string{}, names...) }
