package debug

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxTime is how long making a page may take. Profiles take as long as they are asked to.
	maxTime   = 10 * time.Second
	plainText = "text/plain; charset=utf-8"
)

// answer writes a page in the form that r asks for: text, unless it wants JSON.
func (p *pages) answer(w http.ResponseWriter, r *http.Request, v any, text func(io.Writer) error) {
	contentType, render := plainText, text
	if wantsJSON(r) {
		contentType, render = "application/json", func(w io.Writer) error { return writeJSON(w, v) }
	}
	var body bytes.Buffer
	if err := render(&body); err != nil {
		p.Fail(w, err)
		return
	}
	write(w, contentType, body.Bytes())
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func wantsJSON(r *http.Request) bool {
	return r.URL.Query().Get("format") == "json" || strings.Contains(r.Header.Get("Accept"), "application/json")
}

func write(w http.ResponseWriter, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an error means that the client has left
}
