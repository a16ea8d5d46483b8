package rls

import (
	"fmt"
	"os"
	"strings"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// A Report is what [Check] has found.
type Report struct {
	Domains, Rules int
	Problems       []descriptors.Problem // the files cannot be used because of these
	Notes          []descriptors.Problem // what has no effect, or another meaning than in Envoy's service
	Ignored        []string              // files that are not read, by their names
}

// Check reads the files of a directory as a Door does, and says what a person should know before they are used. An error means that
// they could not be read.
func Check(directory string) (Report, error) {
	files, err := readDirectory(directory, isConfiguration)
	if err != nil {
		return Report{}, err
	}
	found, err := os.ReadDir(directory)
	if err != nil {
		return Report{}, err
	}
	var r Report
	for _, entry := range found {
		if !isConfiguration(entry.Name()) && !entry.IsDir() {
			r.Ignored = append(r.Ignored, entry.Name())
		}
	}
	domains, problems := descriptors.Parse(files)
	if r.Problems = problems; domains != nil {
		r.Domains, r.Rules, r.Notes = domains.Len(), len(domains.Rules), domains.Notes
	}
	return r, nil
}

// meanings are what differs from Envoy's service for every rule, and why.
var meanings = []string{
	"A request that is denied takes nothing, and its limits all admit or none is charged: a client that goes on after a denial does not use up its other limits.",
	"So hits that are reported after the work was done are not charged where they do not fit. Write charge_always: true into such a rate_limit: it takes what is left, as Envoy's service does.",
	"hits_addend: 0 is OVER_LIMIT when nothing is left; in Envoy's service only after a request beyond the limit.",
	"Negative hits take nothing, and give back where the rate_limit has refunds: true; Envoy's service adds them.",
	"unit_multiplier of a limit in a request counts; Envoy's service ignores it.",
	"Nothing is lost or counted twice when a node dies; Envoy's service counts in Redis, and loses what that loses.",
}

// String is the report as a person reads it.
func (r Report) String() string {
	var b strings.Builder
	if len(r.Problems) > 0 {
		fmt.Fprintf(&b, "These files cannot be used:\n")
		lines(&b, r.Problems)
		return b.String()
	}
	fmt.Fprintf(&b, "Domains: %d. Rules: %d.\n", r.Domains, r.Rules)
	if len(r.Ignored) > 0 {
		fmt.Fprintf(&b, "Not read, since their names do not end in .yaml or .yml, or begin with a dot: %s\n", strings.Join(r.Ignored, ", "))
	}
	if len(r.Notes) > 0 {
		fmt.Fprintf(&b, "\nLook at these lines:\n")
		lines(&b, r.Notes)
	}
	fmt.Fprintf(&b, "\nDifferent from Envoy's rate limit service for every rule:\n")
	for _, m := range meanings {
		fmt.Fprintf(&b, "  - %s\n", m)
	}
	return b.String()
}

func lines(b *strings.Builder, all []descriptors.Problem) {
	for _, p := range all {
		fmt.Fprintf(b, "  %s\n", p)
	}
}
