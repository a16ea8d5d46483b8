package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

func (f *findings) cors(path string, c *CORS) {
	if c == nil {
		return
	}
	all := slices.Contains(c.Origins, "*")
	switch {
	case len(c.Origins) == 0:
		f.add(path+".origins", `is empty: name the origins of pages, such as https://app.example.com, or "*" for all`)
	case all && len(c.Origins) > 1:
		f.add(path+".origins", `has other origins beside "*", which covers all: leave out one or the other`)
	case all && c.Credentials:
		f.add(path+".credentials", `cannot be combined with the origin "*", or every page could use the client's credentials: name the origins`)
	}
	for i, origin := range c.Origins {
		if origin != "*" {
			f.check(strictyaml.Item(path+".origins", i), checkOrigin(origin))
		}
	}
	f.different(path+".origins", c.Origins)
	f.methods(path+".methods", c.Methods)
	for i, h := range c.Headers {
		if !isToken(h) {
			f.add(strictyaml.Item(path+".headers", i), "%.64q is not a header name, such as Content-Type", h)
		}
	}
	f.different(path+".headers", c.Headers)
	f.duration(path+".max_age", c.MaxAge, time.Second, 24*time.Hour)
}

// checkOrigin says what is wrong with one, which is compared with what browsers send.
func checkOrigin(origin string) error {
	wrong := fmt.Errorf("%.64q is not an origin as browsers send it: write https://app.example.com or https://*.example.com, in lower case, "+
		"with a port only if it is not the scheme's default, and nothing after it", origin)
	if strings.Count(origin, "*") > 1 {
		return wrong
	}
	plain := strings.Replace(origin, "://*.", "://", 1) // a star stands nowhere else
	u, err := parseURL(plain, "http", "https")
	if err != nil || plain != u.Scheme+"://"+u.Host || strings.ToLower(origin) != origin || strings.ContainsAny(u.Host, "*@") {
		return wrong
	}
	if port := u.Port(); port == map[string]string{"http": "80", "https": "443"}[u.Scheme] && port != "" || strings.HasSuffix(u.Host, ":") {
		return wrong
	}
	return nil
}
