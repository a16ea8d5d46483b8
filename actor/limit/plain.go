package limit

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parsePlain reads a document in which every line is plain: "limits:", a name, a field with its value, a comment, or empty.
// [Document.YAML] writes such documents, and so do most people. It keeps only the rules, while the YAML parser keeps a tree of
// two kilobytes for each limit. ok is false for any other document, and for one with an error: the YAML parser must read those.
func parsePlain(text string) (doc *Document, ok bool) {
	doc = &Document{rules: make(map[string]*Rule, min(len(text)/usualLimit, strings.Count(text, "\n")/2)), names: make([]string, 0, len(text)/usualLimit)}
	p := plainReader{doc: doc}
	for line := range strings.Lines(text) {
		if !p.line(strings.TrimRight(line, " \r\n")) {
			return nil, false
		}
	}
	if !p.begun || !p.end() || len(doc.rules) == 0 {
		return nil, false
	}
	slices.Sort(doc.names)
	return doc, true
}

// A plainReader reads lines of a plain document.
type plainReader struct {
	doc           *Document
	begun         bool  // the line "limits:" has been read
	names, fields int   // the indentation of names and of fields; 0 until there is one
	limit         Limit // the limit that is being read; without a name before the first
	seen          given // of it
}

// line reads a line without its end, and says whether it is plain.
func (p *plainReader) line(line string) bool {
	if !utf8.ValidString(line) || strings.ContainsFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return false // YAML forbids it, even in a comment, or ends the line there
	}
	content := strings.TrimLeft(line, " ")
	indent := len(line) - len(content)
	if at := strings.Index(content, " #"); at >= 0 {
		content = strings.TrimRight(content[:at], " ")
	}
	if content == "" || content[0] == '#' {
		return true
	}
	key, value, one := strings.Cut(content, ":")
	if value != "" && value[0] != ' ' {
		return false
	}
	value = strings.TrimLeft(value, " ")
	if !one || !isPlain(key) || value != "" && !isPlain(value) {
		return false
	}
	switch {
	case indent == 0:
		begun := p.begun
		p.begun = true
		return !begun && key == "limits" && value == ""
	case !p.begun:
		return false
	case p.names == 0 || indent == p.names:
		p.names = indent
		if value != "" || !p.end() {
			return false
		}
		p.limit, p.seen, p.fields = Limit{Name: strings.Clone(key)}, given{}, 0
		return true
	case indent > p.names && p.limit.Name != "" && (p.fields == 0 || indent == p.fields):
		p.fields = indent
		return p.field(key, value)
	}
	return false
}

// field reads a field of the limit.
func (p *plainReader) field(key, value string) bool {
	at := fieldCalled(key)
	if at < 0 || p.seen[at] || value == "" {
		return false
	}
	p.seen[at] = true
	return fields[at].read(&p.limit, value) == nil
}

// end adds the limit that has been read to the document, if there is one.
func (p *plainReader) end() bool {
	if p.limit.Name == "" {
		return true
	}
	if p.limit.fitsGiven(p.seen) != nil || p.limit.hasCount(p.seen) != nil {
		return false
	}
	rule, err := p.limit.Rule()
	if _, twice := p.doc.rules[p.limit.Name]; err != nil || twice || p.doc.gauge(&p.limit) != nil {
		return false
	}
	p.doc.rules[rule.Name] = rule
	p.doc.names = append(p.doc.names, rule.Name)
	return true
}

// isPlain says whether YAML reads text literally anywhere: it begins with a letter or a digit and has no character with a
// meaning in YAML.
func isPlain(text string) bool {
	for i, c := range text {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-' || c == '/' || c == 'µ'):
		default:
			return false
		}
	}
	return text != ""
}
