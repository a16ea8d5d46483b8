package limitfile

import (
	"fmt"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A Problem is something in a file that is wrong, or that means something else than expected.
type Problem struct {
	File  string
	Line  int    // counted from 1
	Field string // such as [0].conditions[1]
	Text  string // what it is, and what to write
}

// String is file:line: field: text.
func (p Problem) String() string {
	if p.Field == "" {
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.File, p.Line, p.Field, p.Text)
}

// A report collects what is to be said of one file.
type report struct {
	file     string
	problems []Problem // it cannot be used because of these
	notes    []Problem // it means something else than expected
}

// maxProblems is how many problems of a file are reported, and how many notes.
const maxProblems = 100

func (r *report) add(line int, field, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{r.file, line, field, fmt.Sprintf(format, args...)})
	}
}

func (r *report) note(line int, field, format string, args ...any) {
	if len(r.notes) < maxProblems {
		r.notes = append(r.notes, Problem{r.file, line, field, fmt.Sprintf(format, args...)})
	}
}

// yaml adds what the reader of YAML says.
func (r *report) yaml(p *strictyaml.Problem) { r.add(p.Line, p.Path, "%s", p.Text) }
