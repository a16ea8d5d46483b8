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
// Empty for none, and for a single letter. The time it takes does not grow with the length of what was typed.
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
		if longer := len(name) - len(typed); longer < -slips || longer > slips {
			continue // it takes as many changes
		}
		if d := distance(typed, name); d < least {
			near, least = name, d
		}
	}
	return near
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
