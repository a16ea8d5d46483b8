package bench

import (
	"fmt"
	"html"
	"io"
)

// The picture, in pixels.
const (
	pictureWidth = 960
	pictureEdge  = 24
	barLeft      = 82 // where bars begin
	barRight     = 816
	barHeight    = 30
	barGap       = 6
	legendTop    = 78
	casesTop     = 146
	caseHeight   = 122
	digitWidth   = 7.4 // of the numbers in the bars, a little more than any font needs
)

// colorOf is the color of a stage; all of them are light enough for dark text.
func colorOf(s Stage) string {
	return map[Stage]string{
		Transport: "#9db8d9", Decode: "#8fd0c8", Route: "#b9d98a", Decide: "#6fbf73", Registers: "#f2c265",
		Fsync: "#ee9a6b", Encode: "#c3b1e1", Memory: "#e9a3b4", Scheduler: "#c9bfae", Other: "#dcdfe3",
	}[s]
}

// Draw writes the report as a picture, in SVG: for each case two bars, divided into stages, whose lengths can be compared
// with each other and not with those of other cases. The same report makes the same bytes.
func (r *StageReport) Draw(w io.Writer) error {
	if err := r.whole(); err != nil {
		return err
	}
	p := &printer{w: w}
	height := casesTop + len(r.Cases)*caseHeight
	p.say(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" `+
		`font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif" fill="#1b1f24">`+"\n",
		pictureWidth, height, pictureWidth, height)
	p.say("<title>Where the processor time of one check goes, before and after</title>\n")
	p.say(`<rect width="%d" height="%d" rx="8" fill="#fbfcfd"/>`+"\n", pictureWidth, height)
	p.text(pictureEdge, 36, `font-size="19" font-weight="600"`, "Where the processor time of one check goes")
	p.text(pictureEdge, 58, `font-size="13" fill="#57606a"`,
		"Nanoseconds of the node's processor time for each check, by stage. Every pair of bars has a scale of its own.")
	p.legend()
	for i, c := range r.Cases {
		p.pair(casesTop+i*caseHeight, &c)
	}
	p.say("</svg>\n")
	return p.err
}

// text writes one line, whose base is at y.
func (p *printer) text(x, y float64, style, text string) {
	p.say(`<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, style, html.EscapeString(text))
}

// legend shows the color of each stage, five in a row.
func (p *printer) legend() {
	const columns, width, row = 5, 130, 22
	for i, s := range Stages() {
		x, y := float64(pictureEdge+i%columns*width), float64(legendTop+i/columns*row)
		p.say(`<rect x="%.1f" y="%.1f" width="14" height="14" rx="3" fill="%s"/>`+"\n", x, y, colorOf(s))
		p.text(x+20, y+11.5, `font-size="13"`, string(s))
	}
}

// pair draws the two bars of a case.
func (p *printer) pair(top int, c *StageCase) {
	y := float64(top)
	p.text(pictureEdge, y+12, `font-size="14" font-weight="600"`, upperFirst(c.Title))
	scale := (barRight - barLeft) / max(c.Before.total(), c.After.total())
	y += 24
	p.bar(y, Before, c.Before, scale, "")
	gain := ""
	if before, after := c.Before.total(), c.After.total(); after > 0 && before > after {
		gain = fmt.Sprintf("÷ %.1f", before/after)
	}
	p.bar(y+barHeight+barGap, After, c.After, scale, gain)
}

// bar draws one bar, with its total behind it.
func (p *printer) bar(y float64, side string, cost *StageCost, scale float64, gain string) {
	const base = barHeight/2 + 4.5
	p.text(pictureEdge, y+base, `font-size="13" fill="#57606a"`, side)
	x := float64(barLeft)
	for _, s := range Stages() {
		ns := cost.PerCheck[s]
		width := ns * scale
		if ns == 0 {
			continue
		}
		p.say(`<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s" stroke="#fbfcfd" stroke-width="0.8">`+
			`<title>%s: %s ns</title></rect>`+"\n", x, y, width, barHeight, colorOf(s), s, nanoseconds(ns))
		if number := nanoseconds(ns); width >= digitWidth*float64(len(number))+4 {
			p.text(x+width/2, y+base, `font-size="12" text-anchor="middle"`, number)
		}
		x += width
	}
	if gain != "" {
		gain = `<tspan dx="14" fill="#1a7f37">` + gain + `</tspan>`
	}
	p.say(`<text x="%.1f" y="%.1f" font-size="14" font-weight="600">%s ns%s</text>`+"\n", x+8, y+base, nanoseconds(cost.total()), gain)
}
