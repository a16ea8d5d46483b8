package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown is the dialect of the pages. Columns are aligned by an attribute: a style in a page is refused by its policy.
var markdown = goldmark.New(
	goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Strikethrough, extension.Linkify,
	),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(parts{}, 100))),
)

// A page is one file of Markdown.
type page struct {
	source   string // such as docs/limits.md
	text     []byte
	doc      ast.Node
	title    string
	about    string // how it begins, for the description
	headings []heading
	leads    []lead // in order
}

// A lead is a link to another page.
type lead struct {
	from *ast.Link
	to   string // its file
}

// readPage reads one. Its error has all that is wrong with it.
func readPage(source string, content []byte) (*page, error) {
	p := &page{source: source, text: content, doc: markdown.Parser().Parse(text.NewReader(content))}
	if err := errors.Join(p.dropComments(), p.fenced()); err != nil {
		return nil, err
	}
	taken := ids{}
	_ = ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function has no errors
		h, ok := n.(*ast.Heading)
		if ok && entering {
			words := plainText(h, content)
			id := taken.next(words)
			h.SetAttributeString("id", []byte(id))
			p.headings = append(p.headings, heading{h.Level, words, id})
		}
		return ast.WalkContinue, nil
	})
	if len(p.headings) == 0 || p.headings[0].level != 1 {
		return nil, fmt.Errorf("%s: the page does not begin with a heading of the first level, which is its title", source)
	}
	p.title = p.headings[0].text
	for n := p.doc.FirstChild(); n != nil && p.about == ""; n = n.NextSibling() {
		if n.Kind() == ast.KindParagraph {
			p.about = shortened(plainText(n, content), 160)
		}
	}
	return p, nil
}

// dropComments takes comments out of the page, and refuses all other HTML: what a page shows is Markdown alone.
func (p *page) dropComments() error {
	var comments []ast.Node
	var broken []error
	_ = ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function has no errors
		var raw []byte
		var at int
		switch n := n.(type) {
		case *ast.HTMLBlock:
			raw, at = append(raw, n.Lines().Value(p.text)...), n.Lines().At(0).Start
			if n.HasClosure() {
				raw = append(raw, n.ClosureLine.Value(p.text)...)
			}
		case *ast.RawHTML:
			raw, at = n.Segments.Value(p.text), n.Segments.At(0).Start
		default:
			return ast.WalkContinue, nil
		}
		if !entering {
			return ast.WalkContinue, nil
		}
		if raw = bytes.TrimSpace(raw); isComment(raw) {
			comments = append(comments, n)
		} else {
			broken = append(broken, fmt.Errorf("%s: HTML is not shown, only comments may stand in a page: %.60q; write Markdown, or put it in `code`", p.at(at), raw))
		}
		return ast.WalkContinue, nil
	})
	for _, n := range comments {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	return errors.Join(broken...)
}

// fenced refuses code that is only indented: commands in it would not be run by the tests of the pages.
func (p *page) fenced() error {
	var broken []error
	_ = ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function has no errors
		if entering && n.Kind() == ast.KindCodeBlock {
			broken = append(broken, fmt.Errorf("%s: the code is only indented: put it between lines of ```", p.near(n)))
		}
		return ast.WalkContinue, nil
	})
	return errors.Join(broken...)
}

// isComment says whether HTML is one comment.
func isComment(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte("<!--")) && bytes.Index(raw, []byte("-->")) == len(raw)-len("-->")
}

// at is a place in the page, by its line.
func (p *page) at(offset int) string {
	return fmt.Sprintf("%s:%d", p.source, 1+bytes.Count(p.text[:offset], []byte("\n")))
}

// near is the place of a node that stands in a line, by the first text in it, or of the block around it.
func (p *page) near(n ast.Node) string {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			return p.at(t.Segment.Start)
		}
	}
	for ; n != nil; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			return p.at(n.Lines().At(0).Start)
		}
	}
	return p.source
}

// plainText is what a node says, without marks.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function has no errors
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(util.UnescapePunctuations(util.ResolveEntityNames(util.ResolveNumericReferences(n.Value(source)))))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.CodeSpan:
			if entering {
				for c := n.FirstChild(); c != nil; c = c.NextSibling() {
					if t, ok := c.(*ast.Text); ok {
						b.WriteString(strings.ReplaceAll(string(t.Value(source)), "\n", " "))
					}
				}
			}
			return ast.WalkSkipChildren, nil
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(source))
			}
		case *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		}
		if n.Type() == ast.TypeBlock && !entering {
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// shortened is the beginning of a text, up to the end of a word.
func shortened(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	cut := max(0, strings.LastIndexByte(text[:most], ' '))
	return strings.TrimRight(text[:cut], " ,;:") + " …"
}
