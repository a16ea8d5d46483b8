package kuadrant

import (
	"fmt"
	"os"
	"strings"

	"github.com/jeton-dev/jeton/rpc/doors/kuadrant/limitfile"
)

// A Findings is what [Check] has found.
type Findings struct {
	Namespaces, Limits int
	Problems           []limitfile.Problem // the files cannot be used because of these
	Notes              []limitfile.Problem // what has no effect, or another meaning than it seems
	Ignored            []string            // files that are not read, by their names
}

// Check reads files as a Door does, and says what a person should know before they are used. An error means that they could not be read.
func Check(path string) (Findings, error) {
	files, err := readFiles(path)
	if err != nil {
		return Findings{}, err
	}
	var f Findings
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if _, f.Ignored, err = inDirectory(path); err != nil {
			return Findings{}, err
		}
	}
	limits, problems := limitfile.Parse(files)
	f.Problems, f.Notes, f.Namespaces, f.Limits = problems, limits.Notes, limits.Len(), len(limits.Limits)
	return f, nil
}

// meanings are what differs from Limitador for every limit, and why.
var meanings = []string{
	"Windows are aligned to the Unix epoch: one of 60 seconds begins with the minute. Limitador's begin with the first hit.",
	"What Report and Commit charge beyond a limit takes what is left, and is not remembered: both deny until the window ends.",
	"Reserve with the amount 0 is OVER_LIMIT when nothing is left, as CheckRateLimit is; in Limitador only after more than the limit was used.",
	"Commit of one id charges once, however often it is repeated; Limitador charges each time.",
	"A reservation lasts as long as its ttl says, up to 10 minutes; in Limitador up to 60 seconds.",
	"A condition or variable that needs a descriptor which the request does not have does not apply.",
	"Counters and reservations are one for all nodes, and survive crashes; Limitador keeps them as its storage does.",
}

// String is the findings as a person reads them.
func (f Findings) String() string {
	var b strings.Builder
	if len(f.Problems) > 0 {
		fmt.Fprintf(&b, "These files cannot be used:\n")
		writeLines(&b, f.Problems)
		f.writeNotes(&b)
		return b.String()
	}
	fmt.Fprintf(&b, "Namespaces: %d. Limits: %d.\n", f.Namespaces, f.Limits)
	if len(f.Ignored) > 0 {
		fmt.Fprintf(&b, "Not read, since their names do not end in .yaml or .yml, or begin with a dot: %s\n", strings.Join(f.Ignored, ", "))
	}
	f.writeNotes(&b)
	fmt.Fprintf(&b, "\nDifferent from Limitador for every limit:\n")
	for _, m := range meanings {
		fmt.Fprintf(&b, "  - %s\n", m)
	}
	return b.String()
}

func (f Findings) writeNotes(b *strings.Builder) {
	if len(f.Notes) > 0 {
		fmt.Fprintf(b, "\nLook at these lines:\n")
		writeLines(b, f.Notes)
	}
}

func writeLines(b *strings.Builder, all []limitfile.Problem) {
	for _, p := range all {
		fmt.Fprintf(b, "  %s\n", p)
	}
}
