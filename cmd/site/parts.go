package main

import (
	"fmt"
	"html"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// parts writes those parts of a page that are not as Markdown's own program has them.
type parts struct{}

// RegisterFuncs says which.
func (p parts) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, p.heading)
	r.Register(ast.KindFencedCodeBlock, p.code)
	r.Register(extast.KindTable, p.table)
	r.Register(extast.KindTableCell, p.cell)
}

// heading has its name, and a link to itself for those who point at it; others find it in the table of contents.
func (parts) heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h, ok := n.(*ast.Heading)
	if !ok {
		return ast.WalkStop, fmt.Errorf("a heading is a %T", n)
	}
	id, _ := h.AttributeString("id")
	name := html.EscapeString(fmt.Sprintf("%s", id))
	if entering {
		fmt.Fprintf(w, `<h%d id="%s">`, h.Level, name)
		return ast.WalkContinue, nil
	}
	if h.Level > 1 {
		fmt.Fprintf(w, `<a class="here" href="#%s" tabindex="-1" aria-hidden="true"></a>`, name)
	}
	fmt.Fprintf(w, "</h%d>\n", h.Level)
	return ast.WalkContinue, nil
}

// code is a block of code.
func (parts) code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block, ok := n.(*ast.FencedCodeBlock)
	if !ok {
		return ast.WalkStop, fmt.Errorf("a block of code is a %T", n)
	}
	language := string(block.Language(source))
	fmt.Fprintf(w, `<div class="code" data-language="%s"><pre><code>%s</code></pre></div>`+"\n", html.EscapeString(language), highlighted(string(n.Lines().Value(source)), language))
	return ast.WalkContinue, nil
}

// usual is how Markdown's own program writes the parts of tables.
var usual = func() registered {
	found := registered{}
	extension.NewTableHTMLRenderer(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)).RegisterFuncs(found)
	return found
}()

// registered is what a part of Markdown's program can write.
type registered map[ast.NodeKind]renderer.NodeRendererFunc

func (r registered) Register(kind ast.NodeKind, write renderer.NodeRendererFunc) { r[kind] = write }

// table moves by itself where it is wider than the page.
func (parts) table(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="wide">`)
	}
	status, err := usual[extast.KindTable](w, source, n, entering)
	if !entering {
		_, _ = w.WriteString("</div>\n")
	}
	return status, err
}

// cell of the head that says nothing is no heading of a column.
func (parts) cell(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if n.ChildCount() > 0 || n.Parent().Kind() != extast.KindTableHeader {
		return usual[extast.KindTableCell](w, source, n, entering)
	}
	if entering {
		_, _ = w.WriteString("<td></td>\n")
	}
	return ast.WalkContinue, nil
}
