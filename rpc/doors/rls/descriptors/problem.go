package descriptors

import (
	"fmt"

	"github.com/jeton-dev/jeton/internal/strictyaml"
)

// A Problem is something in a file that is wrong, or that means something else than expected.
type Problem struct {
	File  string
	Line  int    // counted from 1; less for what is in no file
	Field string // such as descriptors[0].rate_limit.unit
	Text  string // what it is, and what to write
}

// String is file:line: field: text.
func (p Problem) String() string {
	return fmt.Sprintf("%s: %s: %s", place(p.File, p.Line), p.Field, p.Text)
}

// place is file:line, or the name of a resource, which has no lines.
func place(file string, line int) string {
	if line <= 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// A report collects what is to be said of one file.
type report struct {
	file     string
	problems []Problem // it cannot be used because of these
	notes    []Problem // it means something else than expected
}

// maxProblems is how many problems of a file are reported.
const maxProblems = 100

// full says whether there is room for no more problems.
func (r *report) full() bool { return len(r.problems) >= maxProblems }

func (r *report) add(line int, field, format string, args ...any) {
	if r.full() {
		return
	}
	r.problems = append(r.problems, Problem{r.file, line, field, fmt.Sprintf(format, args...)})
}

func (r *report) note(line int, field, format string, args ...any) {
	r.notes = append(r.notes, Problem{r.file, line, field, fmt.Sprintf(format, args...)})
}

// yaml adds what the reader of YAML says.
func (r *report) yaml(p *strictyaml.Problem) { r.add(p.Line, p.Path, "%s", p.Text) }
