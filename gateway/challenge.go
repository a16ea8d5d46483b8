package gateway

import (
	"strings"

	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// challenges are the WWW-Authenticate of a 401: one for each kind of credentials that the document accepts (RFC 9110, section 11.6.1).
// The one for API keys has the scheme ApiKey, which is not registered but widely used, and says where the key goes.
type challenges struct {
	token, key string // empty where the document accepts none
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

// after is all of them for a request with invalid credentials: the challenge for those comes first, and says what is wrong with them,
// as RFC 6750, section 3, has it for tokens.
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
