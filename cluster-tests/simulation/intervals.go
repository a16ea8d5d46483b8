package simulation

import (
	"slices"
	"sort"
)

// An interval is the line from (excluded) to (included).
type interval struct{ from, to int64 }

// Intervals are a set of line, in order; no two touch each other.
type intervals []interval

// at is the first interval that ends at or after from.
func (s intervals) at(from int64) int {
	if n := len(s); n == 0 || s[n-1].to < from { // mostly
		return n
	}
	return sort.Search(len(s), func(i int) bool { return s[i].to >= from })
}

// overlap is the first piece of (from, to] that is in the set.
func (s intervals) overlap(from, to int64) (first interval, found bool) {
	for i := s.at(from); i < len(s) && s[i].from < to; i++ {
		if piece := (interval{max(from, s[i].from), min(to, s[i].to)}); piece.from < piece.to {
			return piece, true
		}
	}
	return interval{}, false
}

// covers says whether all of (from, to] is in the set.
func (s intervals) covers(from, to int64) bool {
	if from >= to {
		return true
	}
	i := s.at(from + 1)
	return i < len(s) && s[i].from <= from && s[i].to >= to
}

// add puts (from, to] into the set.
func (s *intervals) add(from, to int64) {
	if from >= to {
		return
	}
	list := *s
	i := list.at(from)
	j := i
	for j < len(list) && list[j].from <= to {
		from, to = min(from, list[j].from), max(to, list[j].to)
		j++
	}
	*s = slices.Replace(list, i, j, interval{from, to})
}

// cut takes (from, to] out of the set and says whether any of it was in there.
func (s *intervals) cut(from, to int64) (found bool) {
	list := *s
	i := list.at(from)
	j := i
	var rest []interval
	for j < len(list) && list[j].from < to {
		old := list[j]
		found = found || max(old.from, from) < min(old.to, to)
		if old.from < from {
			rest = append(rest, interval{old.from, min(old.to, from)})
		}
		if old.to > to {
			rest = append(rest, interval{max(old.from, to), old.to})
		}
		j++
	}
	if found {
		*s = slices.Replace(list, i, j, rest...)
	}
	return found
}

// length is how much line the set holds.
func (s intervals) length() (n int64) {
	for _, i := range s {
		n += i.to - i.from
	}
	return n
}
