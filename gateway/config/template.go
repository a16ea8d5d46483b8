package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Kind is what a variable is taken from.
type Kind string

// The kinds of variables, as they are written.
const (
	KindIP          Kind = "ip"           // the client's address
	KindClaim       Kind = "jwt"          // jwt.CLAIM
	KindAPIKey      Kind = "api_key"      // api_key, or api_key.ATTRIBUTE of a known one
	KindHeader      Kind = "header"       // header.NAME
	KindProxyHeader Kind = "proxy_header" // proxy_header.NAME, from a trusted proxy
	KindCookie      Kind = "cookie"       // cookie.NAME
	KindRoute       Kind = "route"        // the name of the route
	KindMethod      Kind = "method"       // of the request
	KindHost        Kind = "host"         // of the request
	KindPath        Kind = "path"         // path.NAME, a {NAME} of the route's path
)

// A Variable is something that may be known of a request: {jwt.sub} is of [KindClaim] with the name sub.
type Variable struct {
	Kind Kind
	Name string // empty for a kind without names, and for the API key itself
}

// String is the variable as it is written between braces.
func (v Variable) String() string {
	if v.Name == "" {
		return string(v.Kind)
	}
	return string(v.Kind) + "." + v.Name
}

// A Part is a piece of a template: a text, or a variable.
type Part struct {
	Text     string
	Variable Variable // of the zero kind when the part is a text
}

const variableForms = "{ip}, {jwt.CLAIM}, {api_key}, {api_key.ATTRIBUTE}, {header.NAME}, {proxy_header.NAME}, {cookie.NAME}, " +
	"{route}, {method}, {host}, {path.NAME}"

// ParseVariable reads a variable as it is written between braces.
func ParseVariable(text string) (Variable, error) {
	kind, name, named := strings.Cut(text, ".")
	v := Variable{Kind(kind), name}
	var ok bool
	switch v.Kind {
	case KindIP, KindRoute, KindMethod, KindHost:
		ok = !named
	case KindAPIKey:
		ok = !named || isName(name)
	case KindClaim:
		ok = named && name != "" && strings.Count(name, ".") <= maxDots && utf8.ValidString(name) && !strings.ContainsAny(name, "{}") &&
			!strings.ContainsFunc(name, unicode.IsControl)
	case KindHeader, KindProxyHeader, KindCookie:
		if v.Kind != KindCookie && strings.EqualFold(name, "Host") {
			return Variable{}, fmt.Errorf("{%.64s} is not available as a header: write {host}", text)
		}
		ok = named && isToken(name)
	case KindPath:
		ok = named && isIdentifier(name)
	default:
		return Variable{}, fmt.Errorf("{%.64s} is not a variable: there are %s", text, variableForms)
	}
	if !ok || len(text) > maxVariable {
		return Variable{}, fmt.Errorf("{%.64s} is not a valid form of this variable: there are %s", text, variableForms)
	}
	return v, nil
}

// ParseTemplate reads the template of a key: texts of at most 128 bytes in all, and at most 8 variables, in braces. Braces
// stand for nothing else. Between two variables stands a text that keeps their values apart: it begins with a punctuation
// mark of ASCII other than %. Parts that are texts never follow one another.
func ParseTemplate(text string) ([]Part, error) {
	switch {
	case text == "":
		return nil, errors.New("is empty: write the template of a key, such as user:{jwt.sub}")
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		return nil, fmt.Errorf("%.64q holds a control character or is not UTF-8", text)
	}
	var parts []Part
	for rest := text; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			i = len(rest)
		}
		if i > 0 {
			parts = append(parts, Part{Text: rest[:i]})
		}
		if rest = rest[i:]; rest == "" {
			break
		}
		inside, after, closed := strings.Cut(rest, "}")
		if rest[0] == '}' || !closed || strings.Contains(inside[1:], "{") {
			return nil, fmt.Errorf("%.64q has an unbalanced brace: braces are for variables only", text)
		}
		v, err := ParseVariable(inside[1:])
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{Variable: v})
		rest = after
	}
	if err := checkParts(text, parts); err != nil {
		return nil, err
	}
	return parts, nil
}

// checkParts says what is wrong with the parts of a template all together.
func checkParts(text string, parts []Part) error {
	fixed, count := 0, 0
	var last Variable
	between := ""
	for _, p := range parts {
		if p.Variable.Kind == "" {
			between = p.Text
			fixed += len(p.Text)
			continue
		}
		if count > 0 && !separates(between) {
			return fmt.Errorf("%.64q has no separator between {%.64s} and {%.64s}: put a colon between them", text, last, p.Variable)
		}
		last, between = p.Variable, ""
		count++
	}
	switch {
	case fixed > maxLiteral:
		return fmt.Errorf("%d bytes of fixed text are too many: at most %d", fixed, maxLiteral)
	case count > maxVariables:
		return fmt.Errorf("%d variables are too many: at most %d", count, maxVariables)
	}
	return nil
}

// separates says whether a text between two variables shows where the value of the first one ends: it begins with what can
// be escaped in a value, and is no part of an escape.
func separates(between string) bool {
	return between != "" && between[0] < utf8.RuneSelf && between[0] != '%' && !isLetter(between[0]) && !isDigit(between[0])
}

// variables are those of the parts of a template.
func variables(parts []Part) []Variable {
	var all []Variable
	for _, p := range parts {
		if p.Variable.Kind != "" && !slices.Contains(all, p.Variable) {
			all = append(all, p.Variable)
		}
	}
	return all
}
