package top

import (
	"math"
	"strings"
)

// bars are the steps of a sparkline. Its lowest stands for nothing at all.
const bars = "▁▂▃▄▅▆▇█"

// sparkline draws the last values, one a cell, as parts of the highest of them. What is no number is drawn as nothing.
func sparkline(values []float64, width int) string {
	if width <= 0 || len(values) == 0 {
		return ""
	}
	values = values[max(len(values)-width, 0):]
	highest := 0.0
	for _, v := range values {
		if isNumber(v) {
			highest = max(highest, v)
		}
	}
	steps := []rune(bars)
	var line strings.Builder
	for _, v := range values {
		at := 0
		if highest > 0 && v > 0 && isNumber(v) {
			at = 1 + min(int(v/highest*float64(len(steps)-1)), len(steps)-2)
		}
		line.WriteRune(steps[at])
	}
	return line.String()
}

func isNumber(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
