package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/web"
)

// searchWithin is how long a search may take.
const searchWithin = 5 * time.Second

// keys answers GET /console/keys?q=user:&limit=login&most=100. Keys are any bytes: JSON escapes them.
func (c *Console) keys(w http.ResponseWriter, r *http.Request) {
	q, err := searched(r.URL.RawQuery)
	if err != nil {
		web.WriteProblem(w, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), searchWithin)
	defer cancel()
	found, err := c.Source.Keys(ctx, q)
	if err != nil {
		web.WriteProblem(w, err)
		return
	}
	text, err := json.Marshal(found) // which escapes HTML too
	if err != nil {
		web.WriteProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // an error means that the client has left
}

// searched is what a query asks for.
func searched(raw string) (activity.KeysAsked, error) {
	malformed := &limit.FieldError{Field: "query", Problem: "the parameters are q, limit and most, as in ?q=user:&limit=login&most=100"}
	query, err := url.ParseQuery(raw)
	for parameter, values := range query {
		if parameter != "q" && parameter != "limit" && parameter != "most" || len(values) != 1 {
			err = malformed
		}
	}
	if err != nil {
		return activity.KeysAsked{}, malformed
	}
	for _, parameter := range []string{"q", "limit"} {
		if !utf8.ValidString(query.Get(parameter)) { // other nodes would be asked for something else
			return activity.KeysAsked{}, &limit.FieldError{Field: parameter, Problem: "is not valid UTF-8"}
		}
	}
	most := activity.DefaultKeys
	if said := query.Get("most"); said != "" {
		if most, err = strconv.Atoi(said); err != nil || most < 1 || most > activity.MaxKeys {
			return activity.KeysAsked{}, &limit.FieldError{Field: "most", Problem: fmt.Sprintf("%s is not a number from 1 to %d", limit.Quote(said), activity.MaxKeys)}
		}
	}
	return activity.KeysAsked{Prefix: query.Get("q"), Limit: query.Get("limit"), Most: most}, nil
}
