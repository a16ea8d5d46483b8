package identity

import (
	"net/netip"
	"strings"
)

// cutForwarded cuts the last element off a line of Forwarded (RFC 7239), such as
//
//	for=192.0.2.43, for="[2001:db8:cafe::17]:4711";proto=https
//
// It reads from right to left, so that a quotation mark which a client has opened and not closed cannot swallow what a
// trusted proxy wrote behind it.
func cutForwarded(line string) (hop netip.Addr, rest string, more, ok bool) {
	comma, ok := lastComma(line)
	if !ok {
		return netip.Addr{}, "", false, false
	}
	hop, ok = forNode(trim(line[comma+1:]))
	if comma < 0 {
		return hop, "", false, ok
	}
	return hop, line[:comma], true, ok
}

// lastComma is the index of the last comma outside quotation marks, -1 if there is none. ok is false when the last element is too
// long or its quotation marks do not match.
func lastComma(line string) (at int, ok bool) {
	quoted := false
	for i := len(line) - 1; i >= 0; i-- {
		if len(line)-i > maxHop {
			return 0, false
		}
		switch c := line[i]; {
		case c == '"' && !quoted:
			quoted = true
		case c == '"' && !escaped(line, i):
			quoted = false
		case c == ',' && !quoted:
			return i, true
		}
	}
	return -1, !quoted
}

// escaped says whether the quotation mark at i has an odd number of backslashes before it.
func escaped(line string, i int) bool {
	n := 0
	for n < i && n < maxHop && line[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// forNode is the address of the one for= of an element. "unknown", a hidden name and anything else are no address.
func forNode(element string) (netip.Addr, bool) {
	node, found := "", false
	for element != "" {
		name, value, rest, ok := cutPair(element)
		if !ok {
			return netip.Addr{}, false
		}
		if strings.EqualFold(name, "for") {
			if found {
				return netip.Addr{}, false
			}
			node, found = value, true
		}
		element = rest
	}
	return parseNode(node)
}

// cutPair takes name=value off the beginning of an element, and the semicolon behind it.
func cutPair(s string) (name, value, rest string, ok bool) {
	name, after, found := strings.Cut(s, "=")
	name = trim(name)
	if !found || !isToken(name) {
		return "", "", "", false
	}
	if strings.HasPrefix(after, `"`) {
		value, rest, ok = unquote(after[1:])
		if rest = trim(rest); !ok || rest != "" && rest[0] != ';' {
			return "", "", "", false
		}
		return name, value, trim(strings.TrimPrefix(rest, ";")), true
	}
	value, rest, _ = strings.Cut(after, ";")
	value = trim(value)
	for i := range len(value) {
		// Strictly, an IPv6 address has to be quoted; not all proxies do so.
		if c := value[i]; !isTokenByte(c) && c != ':' && c != '[' && c != ']' {
			return "", "", "", false
		}
	}
	return name, value, trim(rest), value != ""
}

// unquote reads a quoted-string whose first quotation mark has been read, up to the one that ends it.
func unquote(s string) (value, rest string, ok bool) {
	if end := strings.IndexAny(s, `"\`); end >= 0 && s[end] == '"' {
		return s[:end], s[end+1:], true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
