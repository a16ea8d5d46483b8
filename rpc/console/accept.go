package console

import (
	"math"
	"strconv"
	"strings"
)

// prefersHTML says of the header Accept whether a browser sends it for a page: it names HTML, and nothing else that / has before it. A
// program that takes anything names none.
func prefersHTML(accept []string) bool {
	html, other := 0.0, 0.0
	for item := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, parameters, _ := strings.Cut(item, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case "text/html":
			html = max(html, quality(parameters))
		case "text/plain", "application/json":
			other = max(other, quality(parameters))
		}
	}
	return html > 0 && html >= other
}

// quality is the q of the parameters of a media range; 1 where there is none, and 0 for one that is none.
func quality(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if strings.EqualFold(name, "q") {
			q, err := strconv.ParseFloat(value, 64)
			if err != nil || math.IsNaN(q) || q < 0 || q > 1 {
				return 0
			}
			return q
		}
	}
	return 1
}
