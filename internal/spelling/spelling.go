// Package spelling suggests the known name that was meant by an unknown one. Start with [Nearest], or with [Near] if there may be
// none.
package spelling

import (
	"slices"
	"strings"
)

// maxSlips is the maximum edit distance of names that are near.
const maxSlips = 2

// Near is the known name that was probably meant: it begins with what was typed, or is at an edit distance of at most two.
// Empty for none, and for a single letter. It takes some tens of nanoseconds for each known name that is not alike, and allocates nothing: whoever is
// refused for a name must not cost more than whoever is served.
func Near(typed string, known []string) string {
	if len(known) == 0 || len(typed) <= 1 {
		return ""
	}
	for _, name := range known {
		if strings.HasPrefix(name, typed) {
			return name
		}
	}
	slips := min(maxSlips, len(typed)-1)
	near, least := "", slips+1
	for _, name := range known {
		if d := within(typed, name, slips); d < least {
			near, least = name, d
		}
	}
	return near
}

// within is the [distance] of a and b if that is at most slips, which is at most maxSlips, and slips+1 if it is more. It looks only at places that
// lie so near to each other (Ukkonen 1985, "Algorithms for approximate string matching"), and ends where all of them are too far.
func within(a, b string, slips int) int {
	longer, far := len(b)-len(a), slips+1
	if longer < -slips || longer > slips {
		return far
	}
	var row [2*maxSlips + 1]int // of the first i letters of a: at k, their distance from the first i+k-slips of b
	for k := range row {
		row[k] = max(k-slips, 0)
	}
	for i := 1; i <= len(a); i++ {
		least := far
		for k := range 2*slips + 1 {
			j, d := i+k-slips, far
			switch {
			case j == 0:
				d = i
			case j > 0 && j <= len(b) && a[i-1] == b[j-1]:
				d = row[k]
			case j > 0 && j <= len(b):
				d = row[k] + 1
				if k < 2*slips {
					d = min(d, row[k+1]+1)
				}
				if k > 0 {
					d = min(d, row[k-1]+1)
				}
			}
			row[k] = min(d, far)
			least = min(least, row[k])
		}
		if least == far {
			return far
		}
	}
	return row[longer+slips]
}

// Nearest is the known name with the smallest edit distance, the first of several; empty if there is no known name.
func Nearest(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	return slices.MinFunc(known, func(a, b string) int { return distance(name, a) - distance(name, b) })
}

// distance is the Levenshtein distance of a and b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
