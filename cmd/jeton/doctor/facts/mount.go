package facts

import (
	"bufio"
	"io"
	"slices"
	"strings"
)

// A Mount is the file system that a folder is on.
type Mount struct {
	Point   string   `json:"point,omitempty"` // where it is mounted
	Type    string   `json:"type,omitempty"`  // such as ext4; empty: not known
	Source  string   `json:"source,omitempty"`
	Options []string `json:"options,omitempty"`
	Device  string   `json:"device,omitempty"` // its number, major:minor
	Unknown string   `json:"unknown,omitempty"`
}

// A Drive is what a file system is on.
type Drive struct {
	Name string `json:"name,omitempty"` // such as vda; empty: not known
	// Cache is what the kernel knows of the drive's cache of writes: "write back" has one, which fsync flushes; "write through" has none, or one that
	// the drive says it need not flush. Empty: not known.
	Cache    string `json:"cache,omitempty"`
	Rotating bool   `json:"rotating,omitempty"` // as the kernel has it; of virtual drives it often is not so
}

// Room is what is left on a file system.
type Room struct {
	Free  uint64 `json:"free"` // bytes for users that are not root
	Whole uint64 `json:"whole"`
	// FreeFiles is how many files can still be made, of WholeFiles; both are 0 where the file system has no such bound.
	FreeFiles  uint64 `json:"free_files,omitempty"`
	WholeFiles uint64 `json:"whole_files,omitempty"`
	Unknown    string `json:"unknown,omitempty"` // why it is not known
}

// mountAt is the mount of a path, by a table in the form of /proc/self/mountinfo:
//
//	27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
//
// The last of several with the longest point covers the others.
func mountAt(table io.Reader, path string) (found Mount) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		own, of, ok := strings.Cut(lines.Text(), " - ")
		left, right := strings.Fields(own), strings.Fields(of)
		if !ok || len(left) < 6 || len(right) < 3 {
			continue
		}
		m := Mount{
			Point: unescaped(left[4]), Type: right[0], Source: unescaped(right[1]), Device: left[2],
			Options: slices.Concat(strings.Split(left[5], ","), strings.Split(right[2], ",")),
		}
		if within(path, m.Point) && len(m.Point) >= len(found.Point) {
			found = m
		}
	}
	return found
}

// within says whether a path is a folder or below it.
func within(path, folder string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}

// unescaped is a field of the table as it was: blanks are written as octal numbers.
func unescaped(field string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(field)
}
