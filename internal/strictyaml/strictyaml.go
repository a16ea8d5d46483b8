// Package strictyaml reads YAML documents strictly, for formats that people write by hand: an unknown field, a field that is there
// twice, a value of another kind, an empty text, a directive and a second document are problems, each with its line, and a field that is nearly
// spelled like a known one with the question whether that is meant. Anchors and aliases of whole values are read; merge keys (<<)
// are not.
//
// [Root] finds the document in a text. A format whose structure is a Go struct fills it with a [Decoder], which goes on after a
// problem; one that reads values by itself walks the nodes with [EachField].
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/jeton-dev/jeton/internal/spelling"
)

// A Problem is something wrong with a field of a document.
type Problem struct {
	Path string // of the field, such as routes[0].name; "document" for the whole
	Text string // what is wrong and what would be right
	Line int    // counted from 1
}

// String is the line, the field and the problem.
func (p *Problem) String() string { return fmt.Sprintf("line %d: %s: %s", p.Line, p.Path, p.Text) }

// whole is the path of the whole document.
const whole = "document"

// directive finds a line that begins with %, after any line break of YAML.
var directive = regexp.MustCompile(`(?:^\x{FEFF}*|[\n\r\x{85}\x{2028}\x{2029}])%`)

// Root is the value of the one document in text. It is nil if text holds none: only comments and separators.
//
// A line that begins with % is refused, as directives do: the parser compares each %TAG with all before it, and formats need none.
func Root(text []byte) (*yaml.Node, *Problem) {
	if at := directive.FindIndex(text); at != nil {
		line := 1 + bytes.Count(text[:at[1]], []byte("\n"))
		return nil, &Problem{whole, "has a line that begins with %: directives such as %YAML and %TAG are not taken, so leave it out", line}
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	switch err := dec.Decode(&first); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, syntaxProblem(err)
	}
	err := dec.Decode(&second)
	if errors.Is(err, io.EOF) {
		return first.Content[0], nil
	}
	line := second.Line
	if err != nil {
		line = syntaxProblem(err).Line
	}
	return nil, &Problem{whole, "holds more than one YAML document: keep one", line}
}

// syntaxProblem is an error of the YAML parser, whose text may start with "yaml: line 3: ". Without a line there, it is line 1.
func syntaxProblem(err error) *Problem {
	p := &Problem{Path: whole, Text: strings.TrimPrefix(err.Error(), "yaml: "), Line: 1}
	line := 0
	if _, err := fmt.Sscanf(p.Text, "line %d: ", &line); err == nil {
		_, p.Text, _ = strings.Cut(p.Text, ": ")
		p.Line = max(line, 1)
	}
	p.Text = "is not YAML: " + p.Text
	return p
}

// maxShown is how many characters of a name or value a problem repeats.
const maxShown = 64

// maxFieldName is how many bytes the name of a field has at most: what is told of every value below it repeats the name.
const maxFieldName = 256

// EachField calls f for each field of a mapping, in the order of the document. Problems are reported: a node that is no mapping, a
// name that is no single value or too long, a field that is there twice. They do not end the walk. n may be an alias of a mapping. path is that
// of the mapping; "" is the document.
func EachField(n *yaml.Node, path string, report func(*Problem), f func(key, value *yaml.Node)) {
	at, n := n.Line, resolve(n)
	switch {
	case n.Kind != yaml.MappingNode:
		report(problem(path, at, "is %s: write a mapping, as in name: value", Kind(n)))
		return
	case n.ShortTag() != "!!map":
		report(problem(path, at, "is a mapping with the tag %s: leave the tag out", shown(n.ShortTag())))
		return
	}
	seen := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			report(problem(path, key.Line, "holds %s for a name: names are single values, as in name: value", Kind(key)))
			continue
		}
		if len(key.Value) > maxFieldName {
			report(problem(Under(path, shown(key.Value)), key.Line, "has a name of %d bytes: at most %d", len(key.Value), maxFieldName))
			continue
		}
		if line, twice := seen[key.Value]; twice {
			report(problem(Under(path, shown(key.Value)), key.Line, "is defined already at line %d", line))
			continue
		}
		seen[key.Value] = key.Line
		f(key, n.Content[i+1])
	}
}

// Unknown is the problem of a field that is none of the known ones. has introduces these, as in "a limit has".
func Unknown(key *yaml.Node, path, has string, known []string) *Problem {
	if key.Value == "<<" {
		return problem(Under(path, key.Value), key.Line, "mappings are not merged here: write the fields out, or use an alias for a whole value")
	}
	at, quoted := Under(path, shown(key.Value)), ""
	if key.Value == "" {
		at, quoted = path, `"" `
	}
	p := problem(at, key.Line, "%sis not a known field: %s %s", quoted, has, strings.Join(known, ", "))
	if meant := spelling.Near(key.Value, known); meant != "" {
		p.Text += fmt.Sprintf(": did you mean %q?", meant)
	}
	return p
}

// Kind describes a node, as in "a list" or `the text "on"`.
func Kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	default:
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return fmt.Sprintf("the text %q", shown(n.Value))
	case "!!null":
		return "empty"
	case "!!int", "!!float":
		return "the number " + shown(n.Value)
	default:
		return fmt.Sprintf("%s, of the kind %s", shown(n.Value), shown(strings.TrimLeft(tag, "!")))
	}
}

// Under is the path of a field in what stands at path; "" is the document.
func Under(path, field string) string { return strings.TrimPrefix(path+"."+field, ".") }

// Item is the path of an item of a list.
func Item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func problem(path string, line int, format string, args ...any) *Problem {
	if path == "" {
		path = whole
	}
	return &Problem{path, fmt.Sprintf(format, args...), line}
}

func shown(s string) string { return fmt.Sprintf("%.*s", maxShown, s) }

// resolve is what an alias stands for, or the node itself.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
