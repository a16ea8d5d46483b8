package limit

import (
	"fmt"
	"strconv"
	"strings"
)

// A Reserve is how much of a bucket its owner may take beyond what checks need, in percent of the capacity: from 1 to [MostReserve]. That
// saves writes, and is lost with the owner until time has brought it back. 0 means the default, 5.
type Reserve int

// The reserves besides percents.
const (
	MostReserve          = 50
	ReserveExact Reserve = -1 // nothing

	defaultReserve = 5
)

// String is the reserve as documents write it; empty for the default.
func (r Reserve) String() string {
	switch r {
	case 0:
		return ""
	case ReserveExact:
		return "exact"
	}
	return strconv.Itoa(int(r)) + "%"
}

// ParseReserve reads what [Reserve.String] writes. Its errors are *FieldError with the field "reserve".
func ParseReserve(text string) (Reserve, error) {
	if text == ReserveExact.String() {
		return ReserveExact, nil
	}
	digits, found := strings.CutSuffix(text, "%")
	if n, err := strconv.Atoi(digits); found && err == nil && strconv.Itoa(n) == digits && Reserve(n).isShare() {
		return Reserve(n), nil
	}
	return 0, &FieldError{Field: "reserve", Problem: fmt.Sprintf("%s is neither exact nor a whole percentage from 1%% to %d%%, such as 5%%", Quote(text), MostReserve)}
}

func (r Reserve) isShare() bool { return r >= 1 && r <= MostReserve }
