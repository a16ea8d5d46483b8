package main

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzPage writes pages of anything: what comes out has no script, no style and no name twice, whatever the page says.
func FuzzPage(f *testing.F) {
	for _, text := range []string{
		"# A\n\n| a | b |\n|--:|:-:|\n| `x|y` | ![p](p.svg) |\n", "# A\n\n```console\n$ ls\na\n```\n\n- a\n\n  ```\n  b\n  ```\n", "# A\n\n## B\n\n## B\n\n[x](#b-1 \"t\")\n",
		"# A\n\n<https://a.b/'\"><b onclick=x>", "# `<script>`\n\n&lt;script&gt; ~~x~~ www.example.com\n", "# A\n===\n\n> q\n\n1. a\n   - b\n", "# [a](p.svg) ![b](p.svg)\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := readBook(pagesOf(map[string]string{"README.md": text, "p.svg": svg}))
		if err != nil {
			return
		}
		v, err := (&layout{book: b}).pageView(b.pages[start])
		if err != nil {
			t.Fatal(err)
		}
		d := readDocument([]byte(v.Body))
		if len(d.broken) > 0 {
			t.Fatalf("%q: %v:\n%s", text, d.broken, v.Body)
		}
		for _, lead := range d.leads {
			if strings.HasPrefix(strings.ToLower(lead), "javascript:") || strings.HasPrefix(strings.ToLower(lead), "data:") {
				t.Fatalf("%q: the page leads to %q", text, lead)
			}
		}
		if body := strings.ToLower(string(v.Body)); strings.Contains(body, "<script") || strings.Contains(body, "<!--") {
			t.Fatalf("%q: the page is\n%s", text, v.Body)
		}
		if _, err := fmt.Sscan(string(indexOf([]*entry{{page: b.pages[start]}}).script()), new(string)); err != nil {
			t.Fatal(err)
		}
	})
}
