package limit

import (
	"fmt"
	"strconv"
)

// The ranges of [Limit.Gauges]. Every key of a gauge is two series at each node, so their number has a bound.
const (
	MostGauges    = 20  // of one limit
	MostGaugesAll = 200 // of all limits of a document together
)

func (l *Limit) gaugesText() string {
	if l.Gauges == 0 {
		return ""
	}
	return strconv.Itoa(l.Gauges)
}

func readGauges(l *Limit, text string) (err error) {
	if l.Gauges, err = strconv.Atoi(text); err != nil {
		return &FieldError{Field: "gauges", Problem: fmt.Sprintf("%s is not a whole number of keys from 0 to %d", Quote(text), MostGauges)}
	}
	return nil
}

// checkGauges checks the gauges of a limit.
func (l *Limit) checkGauges() error {
	switch {
	case l.Gauges < 0 || l.Gauges > MostGauges:
		return &FieldError{Field: "gauges", Problem: fmt.Sprintf("%d is not from 0 to %d keys", l.Gauges, MostGauges)}
	case l.Gauges > 0 && l.Consistency == OfEdge:
		return &FieldError{Field: "gauges", Problem: "is what nodes show of buckets, and those of a local limit are at its edges: leave gauges out, or write another consistency"}
	}
	return nil
}

// gauge counts the gauges of a limit of the document that is being read.
func (d *Document) gauge(l *Limit) error {
	if d.gauges += l.Gauges; d.gauges > MostGaugesAll {
		return &FieldError{Field: "gauges", Problem: fmt.Sprintf("makes more than %d of all limits together: ask for fewer keys, or for those of fewer limits", MostGaugesAll)}
	}
	return nil
}
