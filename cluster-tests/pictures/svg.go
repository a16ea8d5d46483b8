package main

import (
	"fmt"
	"html"
	"strconv"
	"strings"
)

// width is that of every picture, in pixels: as wide as a page of text on GitHub.
const width = 760

// style gives the pictures their colors, on light and on dark pages. Every class here is one that drawings use.
const style = `<style>
text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif;font-size:12px;fill:#1b1f24}
.title{font-size:15px;font-weight:600}.small{font-size:11px}.bold{font-weight:600}.middle{text-anchor:middle}.end{text-anchor:end}
.page{fill:#fbfcfd}.dim{fill:#57606a}.good{fill:#1a7f37}.no{fill:#9a5b00}.wrong{fill:#cf222e}.first{fill:#0b5cad}.second{fill:#8a3ffc}
.rule{stroke:#d0d7de}.lane{stroke:#8c959f}.gone{stroke:#cf222e;stroke-width:2}.wall{stroke:#cf222e;stroke-width:2;stroke-dasharray:6 4}
.ask{stroke:#57606a}.yes{stroke:#1a7f37;stroke-dasharray:5 3}.refused{stroke:#b36b00;stroke-dasharray:5 3}.lost{stroke:#cf222e;stroke-dasharray:2 3}
.fsync{fill:#1a7f37}.still{fill:#d8dee4}.cut{fill:#ffebe9}
.held1{fill:#d6e8fb;stroke:#0b5cad}.held2{fill:#e9dcff;stroke:#8a3ffc}.spent1{fill:#0b5cad}.spent2{fill:#8a3ffc}
.free{fill:#eaeef2;stroke:#d0d7de}.twice{fill:#cf222e}.inside{fill:#fff}
.box{fill:#eaf1f8;stroke:#8c959f}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
.page{fill:#0d1117}.dim{fill:#9198a1}.good{fill:#56d364}.no{fill:#e3b341}.wrong{fill:#ff7b72}.first{fill:#79c0ff}.second{fill:#d2a8ff}
.rule{stroke:#30363d}.lane{stroke:#6e7681}.gone,.wall{stroke:#ff7b72}
.ask{stroke:#9198a1}.yes{stroke:#56d364}.refused{stroke:#e3b341}.lost{stroke:#ff7b72}
.fsync{fill:#56d364}.still{fill:#30363d}.cut{fill:#3d1a1d}
.held1{fill:#12304f;stroke:#79c0ff}.held2{fill:#32204f;stroke:#d2a8ff}.spent1{fill:#1f6feb}.spent2{fill:#8957e5}
.free{fill:#161b22;stroke:#30363d}.twice{fill:#da3633}.inside{fill:#fff}
.box{fill:#161b22;stroke:#6e7681}
}
</style>
`

// A drawing is the text of an SVG, drawn from back to front.
type drawing struct{ strings.Builder }

// num is a coordinate as it is written: short, and the same on every machine.
func num(v float64) string { return strconv.FormatFloat(v, 'f', -1, 32) }

func (d *drawing) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(d, "<rect class=%q x=%q y=%q width=%q height=%q rx=\"2\"/>\n", class, num(x), num(y), num(w), num(h))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, "<line class=%q x1=%q y1=%q x2=%q y2=%q/>\n", class, num(x1), num(y1), num(x2), num(y2))
}

// text writes at a baseline. The class says where it is anchored: at its start, unless it is middle or end.
func (d *drawing) text(class string, x, y float64, text string) {
	fmt.Fprintf(d, "<text class=%q x=%q y=%q>%s</text>\n", class, num(x), num(y), html.EscapeString(text))
}

// label is text with the page behind it, so that it can be read where lines cross. It is anchored at its start, or end.
func (d *drawing) label(class string, x, y float64, text string) {
	w := textWidth(text, 11)
	left := x
	if strings.Contains(class, "end") {
		left -= w
	}
	d.rect("page", left-2, y-10, w+4, 14)
	d.text(class, x, y, text)
}

// arrow is a line with a head at its end.
func (d *drawing) arrow(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(d, "<line class=%q x1=%q y1=%q x2=%q y2=%q marker-end=\"url(#%s)\"/>\n",
		class, num(x1), num(y1), num(x2), num(y2), head(class))
}

// cross marks an end.
func (d *drawing) cross(x, y float64) {
	d.line("gone", x-5, y-5, x+5, y+5)
	d.line("gone", x-5, y+5, x+5, y-5)
}

func head(class string) string { return "head-" + class }

// heads defines the head of every kind of arrow, in the color of its line.
func heads() string {
	var b strings.Builder
	b.WriteString("<defs>\n")
	for _, kind := range []struct{ line, fill string }{{"ask", "dim"}, {"yes", "good"}, {"refused", "no"}} {
		fmt.Fprintf(&b, "<marker id=%q viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"+
			"<path class=%q d=\"M0 0 8 4 0 8z\"/></marker>\n", head(kind.line), kind.fill)
	}
	b.WriteString("</defs>\n")
	return b.String()
}

// textWidth is about how wide a text of that size is.
func textWidth(text string, size float64) float64 {
	w := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("il.,:;'|!()[]tfjrI ", r):
			w += 0.34
		case strings.ContainsRune("mwMW", r):
			w += 0.9
		default:
			w += 0.58
		}
	}
	return w * size
}

// page is the whole file: title for those who cannot see it, and at its top for those who can.
func page(title string, height float64, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=%q viewBox=\"0 0 %d %s\" role=\"img\">\n",
		width, num(height), width, num(height))
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	b.WriteString(style + heads())
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=%q rx=\"8\"/>\n", width, num(height))
	fmt.Fprintf(&b, "<text class=\"title\" x=\"20\" y=\"28\">%s</text>\n", html.EscapeString(title))
	b.WriteString(body)
	b.WriteString("</svg>\n")
	return b.String()
}
