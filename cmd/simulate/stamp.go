package simulate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// lastTime is the first time that is refused. Up to there, sums of a time and a few times to fill fit in 64 bits.
var lastTime = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// A stamp is the time of a line in an access log. Lines that follow often have the same one.
type stamp struct {
	text string
	at   int64
}

// commonLayout is how access logs write a time.
const commonLayout = "02/Jan/2006:15:04:05 -0700"

// read reads a time of an access log.
func (s *stamp) read(text string) (int64, error) {
	if text == s.text && text != "" {
		return s.at, nil
	}
	t, err := time.Parse(commonLayout, text)
	if err != nil {
		return 0, &lineError{unreadable, fmt.Sprintf("time: %s is no time such as 10/Oct/2026:13:55:36 +0200", limit.Quote(text))}
	}
	at, err := within(t, text)
	if err == nil {
		s.text, s.at = strings.Clone(text), at
	}
	return at, err
}

// within refuses times that a bucket cannot have.
func within(t time.Time, text string) (int64, error) {
	if t.Before(time.Unix(0, 1)) || !t.Before(lastTime) {
		return 0, &lineError{unreadable, fmt.Sprintf("time: %s is not between 1970 and 2100", limit.Quote(text))}
	}
	return t.UnixNano(), nil
}

// readTime reads a time of RFC 3339, or a Unix time in seconds, milliseconds, microseconds or nanoseconds, whichever gives a time
// between 1973 and 2100.
func readTime(text string) (int64, error) {
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return within(t, text)
	}
	if len(text) > 10 && text[10] == ' ' { // which RFC 3339 permits
		if t, err := time.Parse(time.RFC3339Nano, text[:10]+"T"+text[11:]); err == nil {
			return within(t, text)
		}
	}
	whole, fraction, _ := strings.Cut(text, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || strings.Trim(fraction, "0123456789") != "" {
		return 0, &lineError{unreadable, fmt.Sprintf("time: %s is no time: use one with a zone, such as 2026-10-10T13:55:36.5+02:00, or a Unix time", limit.Quote(text))}
	}
	unit := int64(time.Second)
	for bound := int64(1e11); unit > 1 && n >= bound; bound *= 1000 {
		unit /= 1000
	}
	if n <= 0 || n >= lastTime.UnixNano()/unit {
		return 0, &lineError{unreadable, fmt.Sprintf("time: %s is not between 1970 and 2100", limit.Quote(text))}
	}
	at := n * unit
	for _, digit := range fraction {
		unit /= 10
		at += int64(digit-'0') * unit
	}
	return at, nil
}
