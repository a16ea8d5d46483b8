package llm

import (
	"bytes"
	"strings"
)

// A span is where a value stands in a text: from start up to end. The zero span means that there is none.
type span struct{ start, end int }

func (s span) found() bool            { return s.end > 0 }
func (s span) of(text []byte) []byte  { return text[s.start:s.end] }
func (s span) null(text []byte) bool  { return string(s.of(text)) == "null" }
func (s span) opens(text []byte) byte { return text[s.start] }

// number is the integer at s. A spelling with a fraction or an exponent is none, even where its value is whole.
func (s span) number(text []byte) (n int64, ok bool) {
	digits := s.of(text)
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' || n > (1<<63-1-int64(c-'0'))/10 {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// A walk goes over the members of an object, or the elements of an array. It allocates nothing. It needs valid JSON to be right; from any other text
// it returns false early, and it never reads outside of the text.
type walk struct {
	text []byte
	at   int
}

// walkInto starts a walk over the object or the array at s.
func walkInto(text []byte, s span) walk { return walk{text[:s.end], s.start + 1} }

// space skips white space, commas and colons.
func (w *walk) space() {
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			w.at++
		default:
			return
		}
	}
}

// member is the next member of an object; key is what stands between the quotes.
func (w *walk) member() (key []byte, value span, ok bool) {
	k, ok := w.element()
	if !ok || k.opens(w.text) != '"' {
		return nil, span{}, false
	}
	value, ok = w.element()
	return w.text[k.start+1 : k.end-1], value, ok
}

// element is the next element of an array.
func (w *walk) element() (value span, ok bool) {
	w.space()
	if w.at >= len(w.text) {
		return span{}, false
	}
	start := w.at
	switch w.text[w.at] {
	case '}', ']':
		return span{}, false
	case '"':
		ok = w.quoted()
	case '{', '[':
		ok = w.nested()
	default:
		for w.at < len(w.text) && !strings.ContainsRune(" \t\r\n,:]}", rune(w.text[w.at])) {
			w.at++
		}
		ok = true
	}
	return span{start, w.at}, ok
}

// quoted skips a string. A quote ends it unless an odd number of backslashes stands before it.
func (w *walk) quoted() bool {
	first := w.at + 1
	for at := first; ; at++ {
		next := bytes.IndexByte(w.text[at:], '"')
		if next < 0 {
			w.at = len(w.text)
			return false
		}
		at += next
		escape := at
		for escape > first && w.text[escape-1] == '\\' {
			escape--
		}
		if (at-escape)%2 == 0 {
			w.at = at + 1
			return true
		}
	}
}

// nested skips an object or an array.
func (w *walk) nested() bool {
	depth := 0
	for w.at < len(w.text) {
		switch w.text[w.at] {
		case '"':
			if !w.quoted() {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		w.at++
		if depth == 0 {
			return true
		}
	}
	return false
}

// deeperThan says whether objects and arrays of a text stand deeper in each other than most.
func deeperThan(text []byte, most int) bool {
	w := walk{text: text}
	for depth := 0; w.at < len(text); {
		switch text[w.at] {
		case '"':
			if !w.quoted() {
				return false
			}
			continue
		case '{', '[':
			depth++
			if depth > most {
				return true
			}
		case '}', ']':
			depth--
		}
		w.at++
	}
	return false
}

// root is the object that a text is, with white space around it; not found for anything else.
func root(text []byte) span {
	w := walk{text: text}
	s, ok := w.element()
	if !ok || s.opens(text) != '{' {
		return span{}
	}
	return s
}

// A path leads through objects by the names of their members.
type path []string

// String is the path as a configuration has it.
func (p path) String() string { return strings.Join(p, ".") }

// begins says whether a path begins with that key.
func (p path) begins(key []byte) bool { return len(p) > 0 && sameKey(key, p[0]) }

// A place is where a path leads in a document.
type place struct {
	span
	twice   bool // a name of the path stands more than once in its object; the last one counts
	another bool // a name of the path stands there in other letters, such as MAX_TOKENS, which some readers take for the same
}

// locate finds a path from the object at s.
func locate(text []byte, s span, p path) place {
	var found place
	for i, name := range p {
		if s.opens(text) != '{' {
			return place{twice: found.twice, another: found.another}
		}
		found.span = span{}
		for w := walkInto(text, s); ; {
			key, value, ok := w.member()
			if !ok {
				break
			}
			switch spelling(key, name) {
			case same:
				found.twice = found.twice || found.found()
				found.span = value
			case alike:
				found.another = true
			default:
			}
		}
		if !found.found() || i == len(p)-1 {
			break
		}
		s = found.span
	}
	return found
}

// locateAll finds several paths from the object at s, and walks over that object only once.
func locateAll(text []byte, s span, paths []path) []place {
	places := make([]place, len(paths))
	for w := walkInto(text, s); ; {
		key, value, ok := w.member()
		if !ok {
			return places
		}
		for i, p := range paths {
			if len(p) == 0 {
				continue
			}
			before := places[i]
			switch spelling(key, p[0]) {
			case same:
				if len(p) == 1 {
					places[i].span = value
				} else {
					places[i] = locate(text, value, p[1:])
				}
				places[i].twice = places[i].twice || before.twice || before.found()
				places[i].another = places[i].another || before.another
			case alike:
				places[i].another = true
			default:
			}
		}
	}
}
