package identity

import (
	"fmt"
	"net/http"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
)

// kind is what a variable is read from.
type kind uint8

const (
	clientIP kind = iota + 1
	claim
	apiKey
	attribute
	header
	proxyHeader
	cookie
	routeName
	method
	host
	pathParam
)

// kinds has the kind of a variable by the word before its dot. An attribute is written like an API key, with a name.
var kinds = map[config.Kind]kind{
	config.KindIP: clientIP, config.KindClaim: claim, config.KindAPIKey: apiKey, config.KindHeader: header,
	config.KindProxyHeader: proxyHeader, config.KindCookie: cookie, config.KindRoute: routeName, config.KindMethod: method,
	config.KindHost: host, config.KindPath: pathParam,
}

// A Variable is one thing that is known of a request, such as the claim jwt.plan. The zero Variable never has a value.
type Variable struct {
	kind kind
	name string // of the claim, attribute, header (canonical), cookie or path parameter
	text string // as it was written
}

// String is the variable as it was written, without braces.
func (v Variable) String() string { return v.text }

// secret says whether logs must not show the value. The digest of an API key is not secret: files of keys contain it, and operators
// look up its bucket by it.
func (v Variable) secret() bool { return v.kind == header || v.kind == cookie }

// Variable reads the name of a variable, without braces, such as jwt.plan or proxy_header.X-Bot-Score, and checks that the
// document says what it needs. Its errors are *limit.FieldError with the field "variable".
func (f *Finder) Variable(name string) (Variable, error) {
	parsed, err := config.ParseVariable(name)
	if err != nil {
		return Variable{}, &limit.FieldError{Field: "variable", Problem: err.Error()}
	}
	v, problem := f.variable(parsed)
	if problem != "" {
		return Variable{}, &limit.FieldError{Field: "variable", Problem: problem}
	}
	return v, nil
}

// variable makes a variable ready; problem is empty if there is none.
func (f *Finder) variable(from config.Variable) (v Variable, problem string) {
	v = Variable{kind: kinds[from.Kind], name: from.Name, text: from.String()}
	switch v.kind {
	case apiKey:
		if v.name != "" {
			v.kind = attribute
		}
	case header, proxyHeader:
		v.name = http.CanonicalHeaderKey(v.name)
	default:
	}
	if problem = f.lacks(v); problem != "" {
		return v, fmt.Sprintf("{%s} %s", v.text, problem)
	}
	f.noteVariable(v)
	return v, ""
}

// noteVariable adds what a variable is read from.
func (f *Finder) noteVariable(v Variable) {
	switch v.kind {
	case header:
		f.note(source{place: inHeader, name: v.name})
	case proxyHeader:
		f.note(source{place: inHeader, name: v.name, trusted: true})
	case cookie:
		f.note(source{place: inCookie, name: v.name})
	default:
	}
}

// lacks says which part of the document is missing that v needs; empty if none is.
func (f *Finder) lacks(v Variable) string {
	switch v.kind {
	case claim:
		if len(f.issuers) == 0 {
			return "needs identity.jwt: configure the issuers of tokens there"
		}
	case apiKey, attribute:
		if f.apiKeys == nil {
			return "needs identity.api_key: configure there how clients send API keys"
		}
		if v.kind == attribute && !f.apiKeys.mayHave(v.name) {
			return "needs an attribute of that name in identity.api_key.known: no key has one"
		}
	default:
	}
	return ""
}

// Value is the variable's value, without the escapes that keys have. ok is false when it has no value, or an empty
// one. For ip it is the address with the bits that tell clients apart, for api_key the digest.
func (v Variable) Value(facts *Facts) (value string, ok bool) {
	switch v.kind {
	case clientIP:
		if c := facts.Client(); c.IsValid() {
			return string(facts.finder.addresses.appendIP(nil, c)), true
		}
		return "", false
	case apiKey:
		if facts.KnowsKey() {
			return string(facts.digest[:]), true
		}
		return "", false
	default:
		value = v.free(facts)
		return value, value != ""
	}
}

// free is the value of a variable of free text, empty for none.
func (v Variable) free(facts *Facts) string {
	r := facts.request
	switch v.kind {
	case claim:
		return scalar(facts.token(), v.name)
	case attribute:
		if facts.KnowsKey() {
			return facts.key.attribute(v.name)
		}
	case header:
		return r.header(v.name)
	case proxyHeader:
		if facts.fromProxy() {
			return r.header(v.name)
		}
	case cookie:
		return findCookie(r.Header["Cookie"], v.name)
	case routeName:
		return r.Route
	case method:
		return r.Method
	case host:
		return r.Host
	case pathParam:
		return r.param(v.name)
	default:
	}
	return ""
}
