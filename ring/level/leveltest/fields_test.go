package leveltest

import (
	"slices"
	"strings"
	"testing"
)

// A field that has no tag, or that of another level than the newest, is never written down, and none that was is lost.
func TestHold(t *testing.T) {
	const first, second, third = "a int: level 1", "b int: level 2", "c int: level 3"
	file := []string{first, second}
	for what, c := range map[string]struct {
		lines    []string
		problem  string // without -update
		updating string // with it; empty where it is written down
		held     []string
	}{
		"nothing new":            {[]string{first, second}, "", "", file},
		"one of the newest":      {[]string{first, third, second}, "is new: run", "", []string{first, third, second}},
		"without a tag":          {[]string{first, second, "c int: level 1"}, "give this the tag of level 3", "give this the tag of level 3", file},
		"of a released level":    {[]string{first, second, "c int: level 2"}, "give this the tag of level 3", "give this the tag of level 3", file},
		"of a level that is not": {[]string{first, second, "c int: level 4"}, "give this the tag of level 3", "give this the tag of level 3", file},
		"one is gone":            {[]string{second}, "a int: level 1: is gone", "a int: level 1: is gone", file},
	} {
		for update, want := range map[bool]string{false: c.problem, true: c.updating} {
			held, problems := hold(file, c.lines, 3, update)
			if said := strings.Join(problems, "\n"); !strings.Contains(said, want) || (said == "") != (want == "") {
				t.Errorf("%s, update %t: it says %q, want %q", what, update, said, want)
			}
			if update && !slices.Equal(held, c.held) {
				t.Errorf("%s: the file gets %q, want %q", what, held, c.held)
			}
		}
	}
}
