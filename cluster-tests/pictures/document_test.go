package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

const (
	root     = "../.."
	document = root + "/docs/protocol.md"
)

func readDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every test that a page names is one of this repository.
func TestPagesNameTestsThatExist(t *testing.T) {
	declared := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w*)\(`)
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		code, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, m := range declaration.FindAllSubmatch(code, -1) {
			declared[string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z0-9]\w*`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		named := names.FindAllString(string(text), -1)
		if least := fewestTests[filepath.Base(page)]; len(named) < least {
			t.Errorf("%s names %d tests only", page, len(named))
		}
		for _, name := range named {
			if !declared[name] {
				t.Errorf("%s: there is no test %s", page, name)
			}
		}
	}
}

// fewestTests is how many tests pages name at least that say what they are held by.
var fewestTests = map[string]int{"protocol.md": 50, "algorithms.md": 20}

// Every link of the document within the repository leads somewhere, to a heading if it names one, and every picture is
// shown.
func TestDocumentLinks(t *testing.T) {
	text := readDocument(t)
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		anchors[anchor(m[1])] = true
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1)
	shown := map[string]bool{}
	for _, m := range links {
		target, part, _ := strings.Cut(m[1], "#")
		switch {
		case strings.Contains(m[1], "://"):
		case target == "":
			if !anchors[part] {
				t.Errorf("there is no heading for #%s", part)
			}
		default:
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), target)); err != nil {
				t.Errorf("a link leads nowhere: %v", err)
			}
			shown[filepath.Base(target)] = true
		}
	}
	for _, p := range pictures() {
		if !shown[p.file] && p.file != "algorithms.svg" { // which docs/algorithms.md shows
			t.Errorf("%s is not shown", p.file)
		}
	}
}

// anchor is what GitHub makes of a heading.
func anchor(heading string) string {
	heading = regexp.MustCompile(`[^\p{L}\p{N}\- ]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(heading, " ", "-")
}

// The functions that the document names after a file stand in that file.
func TestDocumentNamesFunctionsThatExist(t *testing.T) {
	// [name](../path/file.go), where name is Type.Method or a function, in code.
	named := regexp.MustCompile("\\[`([A-Za-z.]+)`\\]\\(\\.\\./([a-z/_]+\\.go)\\)").FindAllStringSubmatch(readDocument(t), -1)
	if len(named) < 15 {
		t.Errorf("the document names %d functions only", len(named))
	}
	for _, m := range named {
		code, err := os.ReadFile(filepath.Join(root, m[2]))
		if err != nil {
			t.Error(err)
			continue
		}
		name := m[1][strings.LastIndex(m[1], ".")+1:]
		if !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |\t)` + name + `\b`).Match(code) {
			t.Errorf("%s is not in %s", m[1], m[2])
		}
	}
}

// The worked example of the document, taken through production's own steps.
func TestWorkedExample(t *testing.T) {
	s := usual("A")
	steps := []struct {
		at, cost int64
		want     string // the span; or how long to wait
	}{
		{0, 4, "(0, 4]"},
		{0, 6, "(4, 10]"},
		{0, 1, "no"},
		{1000, 1, "(10, 11]"},
		{1000, 1, "no"},
		{30000, 10, "(30, 40]"},
		{30000, 1, "no"},
	}
	text := readDocument(t)
	for _, step := range steps {
		s.at(step.at)
		before, sent := len(s.spans), len(s.owner("A").sent)
		s.ask("A", step.cost)
		got := "no"
		if len(s.owner("A").sent) > sent {
			s.round("A", "node 1", "node 2", "node 3")
		}
		if len(s.spans) > before {
			got = piece(s.spans[before].Start, s.spans[before].End)
		}
		if got != step.want {
			t.Errorf("at %d ms, cost %d: %s, not %s", step.at, step.cost, got, step.want)
		}
		row := fmt.Sprintf("| %d s | %d | ", step.at/1000, step.cost)
		if !strings.Contains(text, row) || !strings.Contains(text, step.want) {
			t.Errorf("the document does not have the row %s … %s", row, step.want)
		}
	}
	s.sound()
	if err := s.err(); err != nil {
		t.Error(err)
	}
}

// What the document says of a time per token that is cut off to whole nanoseconds.
func TestTruncatedTimePerToken(t *testing.T) {
	rule, err := limit.Limit{Name: "fast", Capacity: 7, Refill: limit.Refill{Tokens: 700_000_000, Per: time.Second}}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	const span = int64(1_000_000) // ns
	exact, truncated := int64(0), int64(0)
	tat, cut := limit.At(dawn), dawn
	perToken := int64(time.Second) / 700_000_000 // 1 ns, where 10/7 is right
	for at := dawn; at < dawn+span; at++ {
		for {
			next, ok := rule.Decide(tat, at, 1)
			if !ok {
				break
			}
			tat, exact = next, exact+1
		}
		for max(cut, at)+perToken <= at+7*perToken {
			cut, truncated = max(cut, at)+perToken, truncated+1
		}
	}
	over := 100 * float64(truncated-exact) / float64(exact)
	t.Logf("in a millisecond: %d exactly, %d truncated, %.1f %% more", exact, truncated, over)
	if over < 42 || over > 43 {
		t.Errorf("%.1f %% more", over)
	}
	if !strings.Contains(readDocument(t), "43 %") {
		t.Error("the document says something else")
	}
}
