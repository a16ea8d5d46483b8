package main

import (
	"html"
	"regexp"
	"strings"
)

// yamlPart finds what is not plain in YAML: texts in quotes, remarks, numbers, and words, of which those before a colon are names.
var yamlPart = regexp.MustCompile(`"(?:[^"\\\n]|\\[^\n])*"|'[^'\n]*'|#[^\n]*|[\pL_][\w.-]*|\d[\w.:/-]*`)

// highlightedYAML is YAML as HTML. The documents of jeton have much on a line, between braces, which lexers of YAML take for names.
func highlightedYAML(code string) string {
	var b strings.Builder
	done := 0
	for _, at := range yamlPart.FindAllStringIndex(code, -1) {
		part, after := code[at[0]:at[1]], code[at[1]:]
		apart := at[0] == 0 || strings.ContainsAny(code[at[0]-1:at[0]], " \n")
		class := ""
		switch {
		case part[0] == '#' && apart:
			class = "remark"
		case strings.HasPrefix(after, ": ") || strings.HasPrefix(after, ":\n"):
			class = "name"
		case part[0] == '"' || part[0] == '\'':
			class = "text"
		case part[0] >= '0' && part[0] <= '9' && apart:
			class = "number"
		}
		if class != "" {
			b.WriteString(html.EscapeString(code[done:at[0]]) + `<span class="` + class + `">` + html.EscapeString(part) + `</span>`)
			done = at[1]
		}
	}
	return b.String() + html.EscapeString(code[done:])
}
