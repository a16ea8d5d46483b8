package descriptors

import (
	"fmt"
	"strings"
	"time"
)

// A Unit is a unit of time of Envoy's protocol, by its number there.
type Unit int32

// The units. A month is 30 days and a year 365, as in Envoy's service.
const (
	Second Unit = 1
	Minute Unit = 2
	Hour   Unit = 3
	Day    Unit = 4
	Month  Unit = 5
	Year   Unit = 6
	Week   Unit = 7
)

const day = 24 * time.Hour

// units are all of them, from the shortest to the longest.
var units = []struct {
	unit   Unit
	name   string
	length time.Duration
}{
	{Second, "second", time.Second},
	{Minute, "minute", time.Minute},
	{Hour, "hour", time.Hour},
	{Day, "day", day},
	{Week, "week", 7 * day},
	{Month, "month", 30 * day},
	{Year, "year", 365 * day},
}

// String is the unit's name, as in files.
func (u Unit) String() string {
	for _, known := range units {
		if known.unit == u {
			return known.name
		}
	}
	return fmt.Sprintf("unit %d", int32(u))
}

// Length is how long one unit lasts; 0 for a unit that does not exist.
func (u Unit) Length() time.Duration {
	for _, known := range units {
		if known.unit == u {
			return known.length
		}
	}
	return 0
}

// parseUnit finds a unit by its name, in any case.
func parseUnit(name string) (Unit, bool) {
	for _, known := range units {
		if strings.EqualFold(known.name, name) {
			return known.unit, true
		}
	}
	return 0, false
}
