package console

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/web"
)

// maxCheck is how many bytes a check may have that is tried here.
const maxCheck = 64 << 10

// try answers POST /console/try: the check is one as any other, and its errors are those of POST /v1/check.
func (c *Console) try(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCheck))
	if err != nil {
		web.WriteProblem(w, &web.Problem{
			Name: "too-large", Title: "The body is too large", Status: http.StatusRequestEntityTooLarge, Detail: "a check that is tried here has at most 64 KiB",
		})
		return
	}
	answer := &recorder{header: http.Header{}}
	asked := r.Clone(r.Context())
	asked.URL, asked.RequestURI = &url.URL{Path: checkPath}, checkPath
	asked.Body, asked.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	c.Other.ServeHTTP(answer, asked)

	var request limit.Request
	var decision limit.Decision
	if answer.status != http.StatusOK && answer.status != http.StatusTooManyRequests || json.Unmarshal(body, &request) != nil || json.Unmarshal(answer.body.Bytes(), &decision) != nil {
		answer.copyTo(w)
		return
	}
	status, header, err := c.Answer(decision, request.Key)
	if err != nil {
		web.WriteProblem(w, err)
		return
	}
	web.WriteJSON(w, http.StatusOK, struct {
		Decision json.RawMessage `json:"decision"`
		Status   int             `json:"status"`
		Headers  [][2]string     `json:"headers"`
		Curl     string          `json:"curl"`
		Go       string          `json:"go"`
		Redis    string          `json:"redis"`
	}{answer.body.Bytes(), status, headers(header), c.curl(r, request), inGo(request), c.redis(r, request)})
}

// headers are the fields of h by name, as their standards write these.
func headers(h http.Header) [][2]string {
	fields := [][2]string{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			fields = append(fields, [2]string{strings.ReplaceAll(name, "Ratelimit", "RateLimit"), value})
		}
	}
	return fields
}

// A recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (a *recorder) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *recorder) WriteHeader(status int) { a.status = status }

// Write implements [http.ResponseWriter].
func (a *recorder) Write(b []byte) (int, error) { return a.body.Write(b) }

// copyTo answers with what was kept.
func (a *recorder) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // an error means that the client has left
}
