package gateway

import (
	"strings"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// challenges are what a 401 asks clients for: a challenge for each kind of credentials that the document knows clients by (RFC 9110,
// section 11.6.1). The one for API keys has the scheme ApiKey, which is not registered but widely used, and says where keys are
// shown.
type challenges struct {
	token, key string // empty where the document has none such
}

func newChallenges(of *config.Identity) (c challenges) {
	if len(of.JWT) > 0 {
		c.token = "Bearer"
	}
	if of.APIKey == nil {
		return c
	}
	var places []string
	if header := of.APIKey.HeaderName(); header != "" {
		places = append(places, `header="`+header+`"`)
	}
	if of.APIKey.Query != "" {
		places = append(places, `query="`+of.APIKey.Query+`"`)
	}
	c.key = "ApiKey " + strings.Join(places, ", ")
	return c
}

// String is all of them; empty for none.
func (c challenges) String() string {
	if c.token == "" || c.key == "" {
		return c.token + c.key
	}
	return c.token + ", " + c.key
}

// after is all of them for a request that shows something which does not count: the challenge for that comes first, and says what
// is wrong with it, as RFC 6750, section 3, has it for tokens.
func (c challenges) after(flaw identity.Flaw) string {
	said := `, error_description="` + flaw.String() + `"`
	if flaw.OfToken() {
		c.token += ` error="invalid_token"` + said
		return c.String()
	}
	c.key += `, error="invalid_key"` + said
	if c.token == "" {
		return c.key
	}
	return c.key + ", " + c.token
}
