package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
)

const repository = "../.."

// built is the site of this repository, made once for all tests.
var built = sync.OnceValues(func() (site, error) { return build(repository, "/") })

func theSite(t *testing.T) site {
	t.Helper()
	s, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Built twice, the site is the same to the byte.
func TestTheSiteIsReproducible(t *testing.T) {
	first := theSite(t).files
	again, err := build(repository, "/")
	if err != nil {
		t.Fatal(err)
	}
	if a, b := slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(again.files)); !slices.Equal(a, b) {
		t.Fatalf("the files are %q, and then %q", a, b)
	}
	for name, content := range first {
		if !bytes.Equal(content, again.files[name]) {
			t.Errorf("%s differs", name)
		}
	}
}

// Every page of docs is in the site, with its title, its place in the list of pages and a description.
func TestEveryPageIsInTheSite(t *testing.T) {
	s := theSite(t)
	pages, err := filepath.Glob(repository + "/docs/*.md")
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range append(pages, repository+"/README.md", repository+"/CHANGELOG.md", repository+"/CONTRIBUTING.md") {
		name, err := filepath.Rel(repository, page)
		if err != nil {
			t.Fatal(err)
		}
		at := addressOf(filepath.ToSlash(name))
		content := string(s.files[at])
		for _, part := range []string{`<meta name="description" content="`, `aria-current="page"`, "<h1 ", ` class="beside"`} {
			if !strings.Contains(content, part) {
				t.Errorf("%s has no %s", at, part)
			}
		}
		if strings.Contains(content, `<meta name="description" content="">`) {
			t.Errorf("%s has an empty description: a page begins with what it is about", at)
		}
		if link := `href="` + at + `"`; !strings.Contains(string(s.files["index.html"]), link) {
			t.Errorf("index.html has no %s", link)
		}
	}
}

// Every file of HTML has the policy by which browsers ask no other host, and run nothing but the site's two scripts.
func TestEveryFileHasThePolicy(t *testing.T) {
	for name, content := range theSite(t).files {
		if filepath.Ext(name) != ".html" {
			continue
		}
		text := string(content)
		before, _, ok := strings.Cut(text, `<meta http-equiv="Content-Security-Policy" content="`+html.EscapeString(policy)+`">`)
		if !ok || strings.ContainsAny(strings.TrimPrefix(before, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"), "<>") {
			t.Errorf("%s does not begin with the policy", name)
		}
		if scripts := strings.Count(text, "<script"); scripts != 2 {
			t.Errorf("%s has %d scripts", name, scripts)
		}
	}
}

// blocks are the blocks of code between fences, read as plainly as can be.
func blocks(text string) (all []string) {
	var block strings.Builder
	inside, indent := false, ""
	for line := range strings.Lines(text) {
		bare := strings.TrimLeft(line, " ")
		switch {
		case strings.HasPrefix(bare, "```") && inside:
			all = append(all, block.String())
			inside = false
		case strings.HasPrefix(bare, "```"):
			block.Reset()
			inside, indent = true, line[:len(line)-len(bare)]
		case inside:
			block.WriteString(strings.TrimPrefix(line, indent))
		}
	}
	return all
}

// preformatted are the texts of the blocks of a file of HTML.
func preformatted(content []byte) (all []string) {
	z := html.NewTokenizer(bytes.NewReader(content))
	inside := false
	for z.Next() != html.ErrorToken {
		token := z.Token()
		switch {
		case token.Type == html.StartTagToken && token.Data == "pre":
			all = append(all, "")
			inside = true
		case token.Type == html.EndTagToken && token.Data == "pre":
			inside = false
		case token.Type == html.TextToken && inside:
			all[len(all)-1] += token.Data
		}
	}
	return all
}

// A reader of the site types the very commands that TestDocsCommands runs.
func TestCodeIsThatOfThePages(t *testing.T) {
	s := theSite(t)
	b, err := readTree(repository)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, name := range b.names {
		if !isPage(name) || s.files[addressOf(name)] == nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil {
			t.Fatal(err)
		}
		want, got := blocks(string(text)), preformatted(s.files[addressOf(name)])
		seen += len(want)
		if !slices.Equal(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("%s: the site shows\n%q\nwant\n%q", name, got[i], want[i])
				}
			}
			t.Errorf("%s: the site shows %d blocks of code, the page has %d", name, len(got), len(want))
		}
	}
	if seen < 150 {
		t.Errorf("only %d blocks were compared", seen)
	}
}

// What the search weighs: the section that is best for a word is one of those that a reader would name.
func TestWordsLeadToTheirSections(t *testing.T) {
	text := theSite(t).files[indexFile]
	var x index
	if err := json.Unmarshal(bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("jetonSearch(")), []byte(");\n")), &x); err != nil {
		t.Fatal(err)
	}
	for word, want := range map[string][]string{
		"429":         {"docs/headers.html", "docs/llm.html", "docs/protect-an-api.html", "docs/when-it-fails.html", "index.html"},
		"retry-after": {"docs/headers.html", "docs/api.html"},
		"lease":       {"docs/limits.html", "docs/consistency.html", "docs/algorithms.html", "docs/protocol.html", "docs/from-envoy-rlqs.html"},
		"gubernator":  {"docs/from-gubernator.html"},
		"glossary":    {"docs/glossary.html"},
		"-9":          {"docs/upgrade.html", "docs/measured.html", "docs/protocol.html", "docs/testing.html", "index.html"},
	} {
		at, ok := slices.BinarySearch(x.Words, word)
		if !ok {
			t.Errorf("%q is not in the index", word)
			continue
		}
		best, most, section := "", 0, 0
		for i := 0; i < len(x.Found[at]); i += 2 {
			section += x.Found[at][i]
			if x.Found[at][i+1] > most {
				best, most = x.Sections[section][0], x.Found[at][i+1]
			}
		}
		if page, _, _ := strings.Cut(best, "#"); !slices.Contains(want, page) {
			t.Errorf("%q leads to %s, want one of %q", word, best, want)
		}
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"Now `kill -9` a node":           "now kill -9 a node",
		"Retry-After: 360":               "retry-after retry after 360",
		"--cluster-key-file cluster.key": "cluster-key-file cluster key file cluster.key cluster key",
		"POST /v1/check-all, 10-20":      "post v1/check-all v1 check all 10-20 10 20",
		"<b>&amp;":                       "b amp",
		"Schlüssel 10⁹":                  "schlüssel 10⁹",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
}
