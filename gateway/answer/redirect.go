package answer

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// redirect is the address that denied clients are sent to; the zero value means none.
type redirect struct{ to string }

func newRedirect(to string) (redirect, error) {
	if to == "" {
		return redirect{}, nil
	}
	wrong := func(problem string) (redirect, error) {
		return redirect{}, &limit.FieldError{Field: "redirect", Problem: fmt.Sprintf("%.200q %s", to, problem)}
	}
	u, err := url.Parse(to)
	remote := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	here := err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(to, "/")
	if !remote && !here || visible(to) != to || strings.ContainsAny(to, ` \`) {
		return wrong("is no address to send clients to: write https://host/path or /path")
	}
	if strings.ContainsAny(strings.NewReplacer("{id}", "", "{route}", "").Replace(to), "{}") {
		return wrong("has a brace that does not belong to {id} or {route}: only these are replaced")
	}
	return redirect{to: to}, nil
}

// fill replaces {id} and {route} by those of r, escaped so that they cannot leave their place in a path or a query.
func (d redirect) fill(r *Refusal) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	return strings.NewReplacer("{id}", escape(r.ID), "{route}", escape(r.Route)).Replace(d.to)
}
