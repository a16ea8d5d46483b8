package identity

import (
	"net/http"
	"strings"

	"github.com/jeton-dev/jeton/internal/alias"
)

// Strip takes the API key out of what is passed on, the header as well as the parameter of the query, unless the document
// says pass_on. known is what [Facts.KnowsKey] says of the request: only if it is true is Authorization taken out, which may
// hold something else that the upstream needs, such as a token. The rest of the query stays as it was written.
func (f *Finder) Strip(r *http.Request, known bool) {
	a := f.apiKeys
	if a == nil || a.passOn {
		return
	}
	if a.header != "" && (known || a.header != "Authorization") {
		r.Header.Del(a.header)
	}
	if a.query != "" && r.URL != nil {
		r.URL.RawQuery = without(r.URL.RawQuery, a.query)
	}
}

// without is a query without a parameter, however its name is escaped, and without what some services take for it.
func without(query, name string) string {
	var kept []string
	dropped := false
	for pair := range strings.SplitSeq(query, "&") {
		if n, _, _ := strings.Cut(pair, "="); isNamed(n, name, alias.Parameter) != another {
			dropped = true
			continue
		}
		kept = append(kept, pair)
	}
	if !dropped {
		return query
	}
	return strings.Join(kept, "&")
}
