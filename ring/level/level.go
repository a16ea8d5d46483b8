// Package level is what the nodes of a cluster may say to one another and write. Nodes of neighboring releases work together because a
// cluster agrees on a level, and none of them says or writes what a later level has brought before all of them know that one:
//
//	level  data directory  brought
//	1      format 3        all that has no tag below
//	2      format 4        levels themselves: the command raise, and the level in the agreed state; ledgers of buckets in time
//
// A release knows the levels of [Known]. What a level brings to commands, to the agreed state and to the limits document is marked in the
// code, in the tag of a field: level:"2", or, for values that an older field of text has gained, levels:"2=value". [Needed] reads the tags, and so what needs a level is refused in one place. What nodes only
// ask one another needs no tag, as long as a node that does not know it can say so, or passes it over.
//
// A new level is a new row of the table, and CONTRIBUTING.md says what else.
package level

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// First is the level of every cluster that never agreed on one.
const First = 1

// newest is the newest level that this release knows. It knows the one before too.
const newest = 2

// LedgersInTime is the level from which on the ledger of a bucket says when all has come back, and not how many tokens have not.
const LedgersInTime = 2

// A Range is the levels that a release knows: all from Oldest to Newest.
type Range struct {
	Oldest int `json:"oldest"`
	Newest int `json:"newest"`
}

// Known are the levels that this release knows.
func Known() Range { return Range{Oldest: max(First, newest-1), Newest: newest} }

// Told is what a node knows that tells r: nil from a release before levels, which knows the first.
func Told(r *Range) Range {
	if r == nil {
		return Range{Oldest: First, Newest: First}
	}
	return *r
}

// Has says whether a level is one of them.
func (r Range) Has(level int) bool { return r.Oldest <= level && level <= r.Newest }

// String is the range as people read it.
func (r Range) String() string {
	if r.Oldest == r.Newest {
		return strconv.Itoa(r.Oldest)
	}
	return fmt.Sprintf("%d to %d", r.Oldest, r.Newest)
}

// Format is the format of the data directories of a cluster at a level. Each level has one of its own, even where no file changes: by it
// releases that do not know the level refuse the disk.
func Format(level int) int { return level + firstFormat - First }

// OfFormat is the level whose format a data directory has, and First of one that is older.
func OfFormat(format int) int { return max(First, format-firstFormat+First) }

// firstFormat is the format of the first level.
const firstFormat = 3

// The keys of tags. One says which level has brought a field, the other, as level=value, which levels have brought values of a text.
const (
	tag       = "level"
	tagValues = "levels"
)

// Needed is the lowest level at which all of v may be said: the highest in a tag of any field in it that is not empty, or of its value.
func Needed(v any) int { return needed(reflect.ValueOf(v)) }

func needed(v reflect.Value) int {
	most := First
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			most = needed(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); !field.IsZero() {
				of := v.Type().Field(i)
				most = max(most, Of(of), needed(field))
				if field.Kind() == reflect.String {
					most = max(most, OfValue(of, field.String()))
				}
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			break // a text
		}
		for i := range v.Len() {
			most = max(most, needed(v.Index(i)))
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			most = max(most, needed(each.Value()))
		}
	default: // it has no fields
	}
	return most
}

// Of is the level that has brought a field of a struct.
func Of(field reflect.StructField) int {
	text, tagged := field.Tag.Lookup(tag)
	if !tagged {
		return First
	}
	return read(field, text)
}

// OfValue is the level that has brought a value of a field of a struct, which is a text.
func OfValue(field reflect.StructField, value string) int {
	for pair := range strings.FieldsSeq(field.Tag.Get(tagValues)) {
		if text, of, _ := strings.Cut(pair, "="); of == value {
			return read(field, text)
		}
	}
	return First
}

// read reads a level of a tag.
func read(field reflect.StructField, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n <= First {
		panic(fmt.Sprintf("the field %s has %q in the tag %s: it is no level above %d", field.Name, text, field.Tag, First))
	}
	return n
}
