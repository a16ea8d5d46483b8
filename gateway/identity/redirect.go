package identity

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects is how many redirects are followed for one key set.
const maxRedirects = 3

// ownOrigin is the CheckRedirect of the client that fetches key sets. It allows redirects within the scheme, host and port that
// the document names. A redirect elsewhere would let another server choose which tokens are valid, and could make the gateway send
// requests into its own network (server-side request forgery).
func ownOrigin(next *http.Request, before []*http.Request) error {
	first := before[0].URL
	if origin(next.URL) != origin(first) {
		return fmt.Errorf("it redirects to %.200q, and redirects are followed only within %s: write the other URL in jwks_url if you trust its keys",
			next.URL.Redacted(), origin(first))
	}
	if len(before) > maxRedirects {
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	}
	return nil
}

// origin is the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + cmp.Or(u.Port(), port)
}
