package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// page is the page as it is served: no step builds it.
//
//go:embed page
var page embed.FS

// The pages, which are at / and not below /console/.
const (
	index  = "index.html"
	signIn = "signin.html"
)

// kinds are the content types of files, by how their names end. What is not here is not served.
var kinds = map[string]string{ //nolint:gochecknoglobals // it is a constant
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".woff2": "font/woff2",
}

// A file is one of the page's.
type file struct {
	kind, etag string
	body       []byte
}

// readFiles reads the files of the page, by their paths. The error names one that is missing.
func readFiles() (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(page, ".", func(at string, entry fs.DirEntry, err error) error {
		kind, served := kinds[path.Ext(at)]
		if err != nil || entry.IsDir() || !served {
			return err
		}
		body, err := page.ReadFile(at)
		digest := sha256.Sum256(body)
		files[strings.TrimPrefix(at, "page/")] = file{kind, strconv.Quote(base64.RawURLEncoding.EncodeToString(digest[:18])), body}
		return err
	})
	for _, name := range []string{index, signIn} {
		if _, ok := files[name]; !ok && err == nil {
			err = fmt.Errorf("console: page/%s is missing", name)
		}
	}
	return files, err
}

// serve answers with the file, or with nothing where the browser has it.
func (f file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Etag", f.etag)
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.body))
}
