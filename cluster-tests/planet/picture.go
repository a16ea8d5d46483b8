package main

import (
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// The pictures, in pixels.
const (
	pictureWidth = 760
	mapScale     = 2.0 // per degree
	mapLeft      = 20.0
	mapTop       = 60.0
	mapNorth     = 66.0 // degrees, at the top
	chartLeft    = 70.0
	chartRight   = 560.0
	chartTop     = 60.0
	chartBottom  = 330.0
)

// style gives the pictures their colors, on light and on dark pages.
const style = `<style>
text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',Helvetica,Arial,sans-serif;font-size:12px;fill:#1b1f24}
.title{font-size:15px;font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}.page{fill:#fbfcfd}.dim{fill:#57606a}
.grid,.way{stroke:#d0d7de}.near{fill:#1a7f37}.mid{fill:#0b5cad}.far{fill:#b36b00}.region{fill:#cf222e}
.strong,.leased,.tight{fill:none;stroke-width:2}.strong{stroke:#57606a}.leased{stroke:#1a7f37}.tight{stroke:#b36b00}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.page{fill:#0d1117}.dim{fill:#9198a1}.grid,.way{stroke:#30363d}.near{fill:#56d364}.mid{fill:#79c0ff}.far{fill:#e3b341}.region{fill:#ff7b72}
.strong{stroke:#9198a1}.leased{stroke:#56d364}.tight{stroke:#e3b341}
}
</style>
`

// draw writes the pictures of docs/planet.md into a folder. The same files come out of every run.
func draw(folder string) error {
	for name, svg := range map[string]string{"cities.svg": drawMap(), "messages.svg": drawMessages()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(svg), 0o644); err != nil { //nolint:gosec // for everybody to see
			return err
		}
	}
	return nil
}

// A drawing is the text of an SVG.
type drawing struct{ strings.Builder }

func (d *drawing) say(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *drawing) text(class string, x, y float64, text string) {
	d.say(`<text class="%s" x="%.1f" y="%.1f">%s</text>`, class, x, y, html.EscapeString(text))
}

func (d *drawing) line(class string, x1, y1, x2, y2 float64) {
	d.say(`<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, class, x1, y1, x2, y2)
}

func newDrawing(title string, height int) *drawing {
	d := &drawing{}
	d.say(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`, pictureWidth, height)
	d.say("<title>%s</title>", html.EscapeString(title))
	d.WriteString(style)
	d.say(`<rect class="page" width="%d" height="%d" rx="8"/>`, pictureWidth, height)
	d.text("title", 20, 28, title)
	return d
}

func (d *drawing) end() string {
	d.say("</svg>")
	return d.String()
}

// drawMap shows the cities, and how far each is from its nearest region.
func drawMap() string {
	d := newDrawing("60 cities with five edges each, and three regions", 340)
	at := func(lat, lon float64) (x, y float64) {
		return mapLeft + (lon+180)*mapScale, mapTop + (mapNorth-lat)*mapScale
	}
	for i := range cities {
		r := &regions[nearest(&cities[i])]
		x, y := at(cities[i].lat, cities[i].lon)
		rx, ry := at(r.lat, r.lon)
		d.line("way", x, y, rx, ry)
	}
	for i := range cities {
		c := &cities[i]
		x, y := at(c.lat, c.lon)
		trip := float64(2*oneWay(c, &regions[nearest(c)])) / 1e6
		class := "near"
		switch {
		case trip >= 100:
			class = "far"
		case trip >= 30:
			class = "mid"
		}
		d.say(`<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"><title>%s: %.0f ms to %s and back</title></circle>`, class, x, y, 1.5+math.Sqrt(c.inhabited)/1.5,
			html.EscapeString(c.name), trip, regions[nearest(c)].name)
	}
	for _, r := range regions {
		x, y := at(r.lat, r.lon)
		d.say(`<rect class="region" x="%.1f" y="%.1f" width="10" height="10"/>`, x-5, y-5)
		d.text("middle", x, y-10, r.name)
	}
	for i, label := range []struct{ class, text string }{{"near", "below 30 ms to a region and back"}, {"mid", "30 to 100 ms"}, {"far", "100 ms and more"}} {
		d.say(`<circle class="%s" cx="%d" cy="320" r="5"/>`, label.class, 30+250*i)
		d.text("dim", float64(42+250*i), 324, label.text)
	}
	return d.end()
}

// slowest and fastest are the checks a second at the ends of the chart, as powers of two; fewest are the messages per check at its bottom, as a power of ten.
const (
	slowest, fastest = -2, 10
	fewest           = -4
)

// drawMessages shows how many messages a check costs, by how often a key comes to an edge.
func drawMessages() string {
	d := newDrawing("Messages per check, by how often a key is checked at an edge", 380)
	x := func(power float64) float64 {
		return chartLeft + (power-slowest)/(fastest-slowest)*(chartRight-chartLeft)
	}
	y := func(messages float64) float64 {
		return chartTop + math.Log10(max(messages, math.Pow10(fewest)))/fewest*(chartBottom-chartTop)
	}
	for power := slowest; power <= fastest; power += 2 {
		d.line("grid", x(float64(power)), chartTop, x(float64(power)), chartBottom)
		d.text("dim middle", x(float64(power)), chartBottom+18, fmt.Sprintf("%g/s", math.Pow(2, float64(power))))
	}
	for power := 0; power >= fewest; power-- {
		d.line("grid", chartLeft, y(math.Pow10(power)), chartRight, y(math.Pow10(power)))
		d.text("dim end", chartLeft-8, y(math.Pow10(power))+4, fmt.Sprint(math.Pow10(power)))
	}
	for _, c := range []struct {
		class, label string
		policy       int
		fill         float64
	}{{"strong", "strong", 0, 10}, {"tight", "leased, bucket of 1 s", 1, 1}, {"leased", "leased, bucket of 10 s", 1, 10}} {
		points, last := "", 0.0
		for power := slowest; power <= fastest; power++ {
			last = y(messagesAt(math.Pow(2, float64(power)), c.fill, policies()[c.policy]))
			points += fmt.Sprintf(" %.1f,%.1f", x(float64(power)), last)
		}
		d.say(`<polyline class="%s" points="%s"/>`, c.class, points[1:])
		d.text("", chartRight+8, last+4, c.label)
	}
	d.text("dim", chartLeft, chartBottom+38, "One edge in Sydney, 94 ms from the owner in Singapore and back; 90 % of the limit is used.")
	return d.end()
}

// messagesAt is how many messages a check costs of a key that comes to one edge in Sydney so often, as the mean of some keys.
func messagesAt(rate, fill float64, by *policy) float64 {
	s := settings{seed: 1, used: 0.9, fill: fill}
	sydney := 0
	for cities[sydney].name != "Sydney" {
		sydney++
	}
	sum := tally{}
	for rank := range 8 {
		s.seconds = 20 + min(max(200/rate, 20), 800)
		p := planOf(&s, &scenario{}, 12, rand.New(rand.NewPCG(1, 1)))
		w := newWorld(p, sized(rank, 1, []place{{city: sydney, rate: rate}}, s.used, s.fill), by)
		w.run(w.end)
		sum.add(w.sites[0].tally, 1)
	}
	return sum.per(sum.messages)
}
