package nemesis

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// What no node may say, whatever happens to it: that its own code is wrong, or what it calls an error. An error is excused
// where a fault of the run is its cause, and only then.
var (
	crashes = regexp.MustCompile(`^(panic:|fatal error:|WARNING: DATA RACE|unexpected fault address|SIGSEGV)|an actor panicked`)
	errs    = regexp.MustCompile(`level=ERROR`)
)

// excuses are errors that nodes have to log, and the kinds of faults after which they do.
var excuses = []struct {
	text  string
	kinds []string
}{
	// A node that finds its disk to be an old copy says so.
	{"the data directory is an old copy", []string{"disk restored", "disk restored of the last life"}},
	// A node that comes back with an old copy of its disk, or an empty one, is known under another id at its address.
	{"two addresses claim to be the same node", []string{"disk wiped", "disk restored", "disk restored of the last life"}},
	{"rejected a node that cannot be in this cluster", []string{"disk restored", "disk restored of the last life", "two added and removed"}},
}

// mostFindings is how many lines of one log are told.
const mostFindings = 5

// readLogs looks through what the nodes have said in all of their lives, and returns what they must not have said.
func readLogs(folder string, played []*Played) (findings []string, err error) {
	kinds := map[string]bool{}
	for _, p := range played {
		kinds[p.Kind.Name] = true
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		found, err := readLog(file, kinds)
		if err != nil {
			return nil, err
		}
		for _, line := range found[:min(len(found), mostFindings)] {
			findings = append(findings, filepath.Base(file)+": "+line)
		}
		if more := len(found) - mostFindings; more > 0 {
			findings = append(findings, fmt.Sprintf("%s: %d lines more like these", filepath.Base(file), more))
		}
	}
	return findings, nil
}

func readLog(file string, kinds map[string]bool) (found []string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 1<<16), 1<<24)
	for lines.Scan() {
		text := lines.Text()
		if crashes.MatchString(text) || errs.MatchString(text) && !excused(text, kinds) {
			found = append(found, text)
		}
	}
	return found, lines.Err()
}

func excused(text string, kinds map[string]bool) bool {
	for _, e := range excuses {
		if !strings.Contains(text, e.text) {
			continue
		}
		for _, k := range e.kinds {
			if kinds[k] {
				return true
			}
		}
	}
	return false
}
