package main

import (
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// ask is when the traffic of the picture asks, in requests a second: a trickle, a burst on either side of the end of the first minute, and
// then more than any limit admits.
func ask(second int64) (requests int) {
	switch {
	case second >= 57 && second < 63:
		return 20
	case second >= 110:
		return 3
	default:
		return int(second % 2)
	}
}

const (
	shownFor     = 240                     // seconds
	morning      = dawn - dawn%(60*second) // a minute begins
	barsLeft     = 200.0
	barsWidth    = 540.0
	courseHeight = 74.0
	barsHeight   = 44.0
)

// A course is what became of the traffic under one limit: of each second's requests, how many were admitted.
type course struct {
	limit    limit.Limit
	title    string
	admitted [shownFor]int
	most     int // in any minute
}

// run takes the traffic through a bucket.
func (c *course) run() error {
	rule, err := c.limit.Rule()
	if err != nil {
		return err
	}
	var bucket limit.Memory
	var times []int64
	for s := range int64(shownFor) {
		requests := ask(s)
		for i := range requests {
			now := morning + s*second + int64(i)*second/int64(requests)
			if bucket.Decide(rule, now, 1).Allowed {
				c.admitted[s]++
				times = append(times, now)
			}
		}
	}
	for from, i := 0, 0; i < len(times); i++ {
		for times[i]-times[from] >= 60*second {
			from++
		}
		c.most = max(c.most, i-from+1)
	}
	return nil
}

// algorithms draws the same traffic under every algorithm.
func algorithms() (string, error) {
	courses := []*course{
		{title: "token-bucket", limit: limit.Limit{Capacity: 60, Refill: limit.Refill{Tokens: 60, Per: time.Minute}}},
		{title: "fixed-window", limit: limit.Limit{Capacity: 60, Window: time.Minute}},
		{title: "sliding-window", limit: limit.Limit{Capacity: 60, Window: time.Minute}},
		{title: "… weighted: true", limit: limit.Limit{Algorithm: limit.SlidingWindow, Capacity: 60, Window: time.Minute, Weighted: true}},
		{title: "sliding-log", limit: limit.Limit{Capacity: 60, Window: time.Minute}},
		{title: "concurrency", limit: limit.Limit{Capacity: 10, Lease: 10 * time.Second}},
	}
	var d drawing
	y := 44.0
	for _, c := range courses {
		c.limit.Name = "l"
		if c.limit.Algorithm == "" {
			c.limit.Algorithm = c.title
		}
		if err := c.run(); err != nil {
			return "", err
		}
		c.draw(&d, y)
		y += courseHeight
	}
	for minute := range int64(shownFor/60 + 1) {
		d.text("small dim middle", xOf(minute*60), y+2, fmt.Sprintf("%d min", minute))
	}
	d.text("small dim middle", width/2, y+24, "Bars: requests of each second; dark: admitted. All limits are 60 a minute; concurrency: 10 inside, each for 10 s.")
	return page("The same traffic under each algorithm", y+40, d.String()), nil
}

func xOf(s int64) float64 { return barsLeft + barsWidth*float64(s)/shownFor }

func (c *course) draw(d *drawing, y float64) {
	d.text("bold", 20, y+18, c.title)
	d.text("small dim", 20, y+36, fmt.Sprintf("most in a minute: %d", c.most))
	for minute := range int64(shownFor/60 + 1) {
		d.line("rule", xOf(minute*60), y, xOf(minute*60), y+barsHeight)
	}
	d.steps("still", y+barsHeight, func(s int) int { return ask(int64(s)) })
	d.steps("spent1", y+barsHeight, func(s int) int { return c.admitted[s] })
	d.line("lane", barsLeft, y+barsHeight, barsLeft+barsWidth, y+barsHeight)
}

// steps draws a bar for each second, as one shape above the ground.
func (d *drawing) steps(class string, ground float64, height func(second int) int) {
	fmt.Fprintf(d, "<path class=%q d=\"M%s %s", class, num(barsLeft), num(ground))
	for s, at := 0, 0; s < shownFor; s++ {
		if h := height(s); h != at {
			fmt.Fprintf(d, "H%sV%s", num(xOf(int64(s))), num(ground-barsHeight*float64(h)/20))
			at = h
		}
	}
	fmt.Fprintf(d, "H%sV%sz\"/>\n", num(barsLeft+barsWidth), num(ground))
}
