package main

import (
	"html"
	"regexp"
	"strings"
	"testing"
)

var element = regexp.MustCompile(`<[^>]*>`)

// textOf is what HTML of code shows.
func textOf(code string) string { return html.UnescapeString(element.ReplaceAllString(code, "")) }

var samples = map[string]string{
	"console": "$ curl -i 'http://localhost:7702/' # a remark\nHTTP/1.1 200 OK\n\n{\"a\":1}\n$ ls \\\n    -l\n",
	"sh":      "for i in 1 2; do echo \"<$i>\" & done\n",
	"yaml":    "limits:\n  login: {capacity: 10, refill: 1/s}   # ✓ 10⁹\n",
	"go":      "// A is\n/* two\nlines */\nvar a = `x\n\ty`\n",
	"json":    "{\"a\": [1, null, \"</script>\"]}\n",
	"":        "  any <text> & \"more\"\n",
	"ts":      "const a: string = `${1}`; // <b>\n",
	"unknown": "x\n",
	"python":  "def a(): return f\"{1}\"\n",
}

func TestHighlightingKeepsTheText(t *testing.T) {
	for language, code := range samples {
		if got := textOf(highlighted(code, language)); got != code {
			t.Errorf("%s: the page shows %q, want %q", language, got, code)
		}
		if got := textOf(numbered(code, language)); got != strings.TrimSuffix(code, "\n") {
			t.Errorf("%s, with numbers: the page shows %q, want %q", language, got, code)
		}
	}
	for language, want := range map[string]string{
		"console": `<span class="prompt">$</span> curl`, "yaml": `<span class="name">capacity</span>: <span class="number">10</span>, <span class="name">refill</span>: <span class="number">1/s</span>}   <span class="remark"># ✓ 10⁹</span>`, "go": `<span class="word">var</span>`, "sh": `$i<span class="text">&gt;</span>`,
	} {
		if got := highlighted(samples[language], language); !strings.Contains(got, want) {
			t.Errorf("%s: %s\nhas no %s", language, got, want)
		}
	}
}

// No part goes on over the end of a line: a line is an element of its own where lines have numbers.
func TestLinesAreElements(t *testing.T) {
	for i, line := range strings.Split(highlighted(samples["go"], "go"), "\n") {
		if opened, closed := strings.Count(line, "<span"), strings.Count(line, "</span>"); opened != closed {
			t.Errorf("line %d opens %d and closes %d: %s", i+1, opened, closed, line)
		}
	}
}

func FuzzHighlighted(f *testing.F) {
	for i, language := range languages {
		f.Add(samples[language], uint(i))
	}
	f.Fuzz(func(t *testing.T, code string, which uint) {
		language := languages[which%uint(len(languages))]
		got := highlighted(code, language)
		if strings.ContainsAny(element.ReplaceAllString(got, ""), `<>"'`) {
			t.Fatalf("%q as %q is %q", code, language, got)
		}
		if strings.Contains(code, "\r") || strings.ToValidUTF8(code, "") != code {
			return // pages have neither
		}
		if textOf(got) != code {
			t.Fatalf("%q as %q shows %q", code, language, textOf(got))
		}
	})
}
