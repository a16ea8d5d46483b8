package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"
)

// maxToken is how many bytes a token may have.
const maxToken = 16 << 10

// Bounds of the JSON in a token, which is parsed before its signature is verified.
const (
	maxDepth  = 32   // objects and arrays within each other
	maxValues = 1024 // values in all
)

// maxMoment is the last second that counts of exp and nbf, in the year 9999: later ones are that.
const maxMoment = 253402300799

// unverified is what a token (JWT) claims, before its signature is verified.
type unverified struct {
	algorithm string
	kid       string // empty for none
	claims    map[string]any
	issuer    string
	audience  []string
	window    window
}

// window is when a token counts.
type window struct {
	expires   time.Time // the zero Time when it says none, and then it never counts
	notBefore time.Time // the zero Time when there is none
}

// holds is why the token does not count at now, or believed.
func (w window) holds(now time.Time, leeway time.Duration) outcome {
	if w.expires.IsZero() {
		return noExpiry
	}
	if !now.Before(w.expires.Add(leeway)) {
		return expired
	}
	if !w.notBefore.IsZero() && now.Before(w.notBefore.Add(-leeway)) {
		return tooEarly
	}
	return believed
}

// parseToken reads a token of three parts; nil if it is none.
func parseToken(raw string) *unverified {
	head, rest, _ := strings.Cut(raw, ".")
	body, signature, _ := strings.Cut(rest, ".")
	if signature == "" || strings.Contains(signature, ".") {
		return nil
	}
	// Every encoder writes alg and kid so; what another reader may find in ALG is no concern of ours.
	protected := decodeObject(head)
	t := &unverified{claims: decodeObject(body)}
	if protected == nil || t.claims == nil {
		return nil
	}
	var ok bool
	if t.algorithm, ok = protected["alg"].(string); !ok {
		return nil
	}
	if kid, has := protected["kid"]; has {
		if t.kid, ok = kid.(string); !ok {
			return nil
		}
	}
	if iss, has := t.claims["iss"]; has {
		if t.issuer, ok = iss.(string); !ok {
			return nil
		}
	}
	if t.audience, ok = audience(t.claims["aud"]); !ok {
		return nil
	}
	if exp, has := t.claims["exp"]; has {
		if t.window.expires, ok = moment(exp); !ok {
			return nil
		}
	}
	if nbf, has := t.claims["nbf"]; has {
		if t.window.notBefore, ok = moment(nbf); !ok {
			return nil
		}
	}
	return t
}

// decodeObject reads a JSON object in base64url; nil if it is none. Numbers stay as they are written: as floating point, two
// long numbers of customers might become one.
func decodeObject(part string) map[string]any {
	text, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil || isComplex(text) {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return object
}

// isComplex says whether JSON has more in it than a token needs: to read a few kilobytes of nothing but brackets takes longer
// than a signature.
func isComplex(text []byte) bool {
	depth, values, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			values++
		case c == ']' || c == '}':
			depth--
		case c == ',':
			values++
		}
		if depth > maxDepth || values > maxValues {
			return true
		}
	}
	return false
}

// audience reads aud: nothing, a string, or an array of strings.
func audience(value any) (list []string, ok bool) {
	switch value := value.(type) {
	case nil:
		return nil, true
	case string:
		return []string{value}, true
	case []any:
		for _, one := range value {
			s, ok := one.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	default:
		return nil, false
	}
}

// moment reads a NumericDate: seconds since 1970, perhaps with a fraction.
func moment(value any) (time.Time, bool) {
	n, ok := value.(json.Number)
	if !ok {
		return time.Time{}, false
	}
	seconds, err := n.Float64()
	if err != nil || seconds < 0 {
		return time.Time{}, false
	}
	whole, part := math.Modf(min(seconds, maxMoment))
	return time.Unix(int64(whole), int64(part*1e9)), true
}

// scalar is the string, number or boolean at a dotted path, empty if there is none. A dot may also belong to the name of a
// claim, such as https://example.com/plan: the longest name that there is counts.
func scalar(claims map[string]any, path string) string {
	if value, has := claims[path]; has {
		switch value := value.(type) {
		case string:
			return value
		case json.Number:
			return value.String()
		case bool:
			if value {
				return "true"
			}
			return "false"
		default:
			return ""
		}
	}
	for end := strings.LastIndexByte(path, '.'); end >= 0; end = strings.LastIndexByte(path[:end], '.') {
		if inner, ok := claims[path[:end]].(map[string]any); ok {
			return scalar(inner, path[end+1:])
		}
	}
	return ""
}
