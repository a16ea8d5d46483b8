package console

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxForm is how many bytes the form of signing in may have: the longest token, percent-encoded, and more.
const maxForm = 16 << 10

// signIn answers POST /console/sign-in: a token that counts becomes a cookie. Any other is answered with the form again, and with words.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	if wait := c.signIns.take(r.RemoteAddr); wait > 0 {
		c.metrics.signIns.WithLabelValues(tooOften).Inc()
		seconds := int(math.Ceil(wait.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		c.signInAgain(w, http.StatusTooManyRequests, fmt.Sprintf("Too many tokens were tried from your address. Try again in %v.", time.Duration(seconds)*time.Second))
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	token := strings.TrimSpace(r.PostFormValue("token"))
	counts, exist := c.Tokens(token)
	switch {
	case !exist:
		c.metrics.signIns.WithLabelValues(wrong).Inc()
		c.signInAgain(w, http.StatusUnauthorized, "No tokens are set up here: nobody needs to sign in.")
	case !counts:
		c.metrics.signIns.WithLabelValues(wrong).Inc()
		c.signInAgain(w, http.StatusUnauthorized, "This token does not count here. Use "+c.Where+".")
	default:
		c.signIns.giveBack(r.RemoteAddr)
		if err := c.Cookies.Set(w, r, token); err != nil {
			c.metrics.signIns.WithLabelValues(wrong).Inc()
			c.signInAgain(w, http.StatusBadRequest, "Signing in did not work: "+err.Error()+".")
			return
		}
		c.metrics.signIns.WithLabelValues(signedIn).Inc()
		home(w)
	}
}

// signOut answers POST /console/sign-out.
func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	c.Cookies.Forget(w, r)
	home(w)
}

// home sends a browser to the page.
func home(w http.ResponseWriter) {
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
}

// signInAgain shows the form with words above it.
func (c *Console) signInAgain(w http.ResponseWriter, status int, words string) {
	said := `<p class="problem" role="alert">` + html.EscapeString(words) + "</p>\n  <form "
	f := c.files[signIn]
	w.Header().Set("Content-Type", f.kind)
	w.WriteHeader(status)
	_, _ = w.Write(bytes.Replace(f.body, []byte("<form "), []byte(said), 1)) // an error means that the client has left
}
