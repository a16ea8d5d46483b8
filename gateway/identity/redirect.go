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

// ownOrigin is the CheckRedirect of who reads key sets. Redirects are followed on the host that the document names, by the
// same scheme and at the same port: elsewhere, somebody else would say whose tokens are believed, and the gateway would ask
// servers in its own network for whoever controls the redirect.
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
