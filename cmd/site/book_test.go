package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// pagesOf is a tree of files, in which README.md has a list of pages.
func pagesOf(files map[string]string) *tree {
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return newTree(all, slices.Collect(maps.Keys(all)))
}

// readme is a README.md with a text before its list of pages.
func readme(text, list string) string { return "# jeton\n\n" + text + "\n\n## Pages\n\n" + list + "\n" }

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"></svg>`

func TestLinksAreThoseOfTheSite(t *testing.T) {
	b, err := readBook(pagesOf(map[string]string{
		"README.md":     readme("![A picture](docs/p/a.svg)", "- Running it: [a](docs/a.md#two), [code](actor/a.go#L2), [folder](deploy/x), [there](https://example.com/x?y=z)"),
		"docs/a.md":     "# A\n\n[top](../README.md), [here](#two), [p](p/a.svg), [b](./sub/b.md#x-y), [code](../actor/a.go)\n\n## Two\n",
		"docs/sub/b.md": "# B\n\n[a](../a.md) and <http://localhost:7702/>\n\n## X y\n", "docs/p/a.svg": svg, "actor/a.go": "package a\n\nfunc A() {}\n",
		"deploy/x/one.yaml": "a: 1\n", "deploy/x/in/two.yaml": "b: 2\n", "SECURITY.md": "# Security\n\nWords.\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	for page, want := range map[string][]string{
		"README.md":     {`src="docs/p/a.svg"`, `href="docs/a.html#two"`, `href="actor/a.go.html#L2"`, `href="deploy/x/index.html"`, `href="https://example.com/x?y=z"`},
		"docs/a.md":     {`href="../index.html"`, `href="#two"`, `href="p/a.svg"`, `href="sub/b.html#x-y"`, `href="../actor/a.go.html"`},
		"docs/sub/b.md": {`href="../a.html"`, `href="http://localhost:7702/"`},
	} {
		v, err := (&layout{book: b}).pageView(b.pages[page])
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(v.Body), w) {
				t.Errorf("%s has no %s:\n%s", page, w, v.Body)
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(b.sources)), []string{"actor/a.go", "deploy/x/one.yaml"}; !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	if got, want := b.externalLinks(), []string{"http://localhost:7702/ in docs/sub/b.md", "https://example.com/x?y=z in README.md"}; !slices.Equal(got, want) {
		t.Errorf("the links to other hosts are %q, want %q", got, want)
	}
}

func TestWhatIsWrongWithPages(t *testing.T) {
	for _, tt := range []struct{ what, text, want string }{
		{"a link to nothing", "[x](docs/none.md)", "README.md:3: docs/none.md: the link leads nowhere"},
		{"a link out of the repository", "[x](../../etc/passwd)", "leads nowhere"},
		{"a link to the top", "[x](.)", "leads nowhere"},
		{"plain http", "[x](http://example.com)", "a link is to https"},
		{"a script", "[x](javascript:alert(1))", "a link is to https"},
		{"data", "[x](data:text/html,x)", "a link is to https"},
		{"another host without a scheme", "[x](//example.com/x)", "a link is to https"},
		{"mail", "<me@example.com>", "addresses of mail"},
		{"no address", "[x](<%zz>)", "is no address"},
		{"a picture of another host", "![x](https://example.com/a.png)", "a picture is a file of the repository"},
		{"no picture", "![x](docs/none.svg)", "there is no picture docs/none.svg"},
		{"a picture with a script", "![x](bad.svg)", "a picture has no script"},
		{"a picture without words", "![](good.svg)", "a picture says what it shows"},
		{"a binary file", "[x](binary)", "the file is no text"},
		{"HTML", "<b>x</b>", `README.md:3: HTML is not shown, only comments may stand in a page: "<b>"`},
		{"indented code", "x\n\n    $ ls\n", "README.md:5: the code is only indented"},
		{"a block of HTML", "<script>\nalert(1)\n</script>", "README.md:3: HTML is not shown"},
		{"HTML after a comment", "<!-- x --><img src=x>", "HTML is not shown"},
		{"HTML between comments", "<!-- x --> <i> <!-- y -->", "HTML is not shown"},
		{"an end of a comment in the middle", "a <!-- x --><u> b", "HTML is not shown"},
	} {
		_, err := readBook(pagesOf(map[string]string{
			"README.md": readme(tt.text, "- A: [a](docs/a.md)"), "docs/a.md": "# A\n", "good.svg": svg, "bad.svg": "<svg><script>1</script></svg>", "binary": "\xff\x00",
		}))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.what, err, tt.want)
		}
	}
	for name, text := range map[string]string{"no title": "Words.\n", "a small title": "## A\n", "no UTF-8": "# A\n\n\xff\n"} {
		if _, err := readBook(pagesOf(map[string]string{"README.md": readme("", "- A: [a](docs/a.md)"), "docs/a.md": text})); err == nil || !strings.Contains(err.Error(), "docs/a.md") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCommentsAreLeftOut(t *testing.T) {
	p, err := readPage("a.md", []byte("# A <!-- in a line -->\n\n<!-- not run: why -->\n```sh\nls # <!-- of the code -->\n```\n\n<!-- two\nlines -->\n"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := (&layout{}).pageView(p)
	if err != nil {
		t.Fatal(err)
	}
	if body := string(v.Body); strings.Contains(body, "not run") || strings.Contains(body, "in a line") || strings.Contains(body, "lines") || !strings.Contains(body, "of the code") {
		t.Errorf("the page is\n%s", body)
	}
}

// Every page under docs is found by itself, or the error says that no page leads there.
func TestEveryPageHasAPlace(t *testing.T) {
	files := map[string]string{
		"README.md": readme("[Deep](docs/deep.md), [a](docs/a.md)", "- One thing: [a](docs/a.md), [b](docs/b.md)\n- Another: [index](docs/index.md)"),
		"docs/a.md": "# A\n\n[x](x.md)\n", "docs/b.md": "# B\n\n[a](a.md)\n", "docs/deep.md": "# Deep\n", "docs/index.md": "# Index\n\n[x](x.md), [y](y.md)\n", "docs/x.md": "# X\n\n[z](z.md)\n",
		"docs/y.md": "# Y\n", "docs/z.md": "# Z\n", "CHANGELOG.md": "# Changes\n", "SECURITY.md": "# Reports\n",
	}
	b, err := readBook(pagesOf(files))
	if err != nil {
		t.Fatal(err)
	}
	groups, err := arrange(b)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, g := range groups {
		got.WriteString(g.name + ":")
		for _, e := range flat([]group{g}) {
			got.WriteString(" " + e.Label())
		}
		got.WriteString("\n")
	}
	const want = "Start: Overview\nOne thing: A B\nAnother: Index X Z Y\nIn depth: Deep\nThe project: Changes Reports\n"
	if got.String() != want {
		t.Errorf("the groups are\n%swant\n%s", got.String(), want)
	}
	files["docs/lost.md"] = "# Lost\n"
	if _, err := readBook(pagesOf(files)); err == nil || !strings.Contains(err.Error(), "docs/lost.md: no page leads to it: link to it in README.md") {
		t.Errorf("a page that no page leads to: %v", err)
	}
	for _, list := range []string{"", "- no colon"} {
		b, err := readBook(pagesOf(map[string]string{"README.md": readme("", list)}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := arrange(b); err == nil {
			t.Errorf("the list of pages %q is no error", list)
		}
	}
}
