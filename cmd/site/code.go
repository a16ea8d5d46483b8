package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/dlclark/regexp2/v2"
)

// classOf is how a part of code looks. What has no class is plain.
func classOf(token chroma.TokenType) string {
	switch {
	case token == chroma.GenericPrompt:
		return "prompt"
	case token == chroma.GenericOutput:
		return "output"
	case token == chroma.NameTag: // the name of a field in JSON
		return "name"
	case token.InCategory(chroma.Comment):
		return "remark"
	case token.InCategory(chroma.Keyword):
		return "word"
	case token.InSubCategory(chroma.LiteralString):
		return "text"
	case token.InSubCategory(chroma.LiteralNumber):
		return "number"
	}
	return ""
}

// languages are those that are highlighted. Code of others, and output of programs, is plain.
var languages = []string{"console", "go", "json", "python", "sh", "ts", "yaml"}

// patient gives an expression of a lexer five seconds and more. One that gets no processor for the 250 ms of chroma counts as one that does not
// match, and the page then looks otherwise each time.
var patient = sync.OnceFunc(func() { regexp2.SetTimeoutCheckPeriod(5 * time.Second) })

// highlighted is code as HTML: its very text, parts of which have a class. A part ends where its line does.
func highlighted(code, language string) string {
	if !slices.Contains(languages, language) {
		return html.EscapeString(code)
	}
	if language == "yaml" {
		return highlightedYAML(code)
	}
	patient()
	lexer := lexers.Get(language)
	tokens, err := chroma.Tokenise(lexer, &chroma.TokeniseOptions{State: "root"}, code)
	if err != nil {
		return html.EscapeString(code)
	}
	var b, same strings.Builder
	for _, t := range tokens {
		same.WriteString(t.Value)
		class := classOf(t.Type)
		for i, line := range strings.Split(t.Value, "\n") {
			if i > 0 {
				b.WriteByte('\n')
			}
			if line = html.EscapeString(line); class != "" && line != "" {
				line = `<span class="` + class + `">` + line + `</span>`
			}
			b.WriteString(line)
		}
	}
	if same.String() != code { // a lexer may add the end of a line, or change what is no text
		return html.EscapeString(code)
	}
	return b.String()
}

// numbered is code as HTML, each line an element with a name: #L12.
func numbered(code, language string) string {
	var b strings.Builder
	for i, line := range strings.SplitAfter(strings.TrimSuffix(highlighted(code, language), "\n"), "\n") {
		fmt.Fprintf(&b, `<span class="line" id="L%d"><a href="#L%d" tabindex="-1" aria-hidden="true"></a>%s</span>`, i+1, i+1, line)
	}
	return b.String()
}
