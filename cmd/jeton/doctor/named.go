package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/cmd/jeton/doctor/facts"
	"github.com/jeton-dev/jeton/internal/plain"
)

// named are the files that options name: keys, certificates, tokens, limits.
func named(j *judge, m *facts.Machine) {
	for i := range m.Named {
		f := &m.Named[i]
		switch {
		case f.Wrong != "":
			j.critical(fileWrong, finding{
				what: fmt.Sprintf("--%s: %s", f.Option, strings.Join(strings.Fields(f.Wrong), " ")),
				do:   "Do what the error says: the node refuses the file when it starts.",
			})
			continue
		case f.Closed != "":
			j.critical(fileClosed, finding{
				what: fmt.Sprintf("--%s: user %s, who owns the data folder, may not read %s", f.Option, f.Closed, f.Path),
				do:   fmt.Sprintf("Let that user read it, and no others: chown %s %s and chmod 400 %s.", f.Closed, f.Path, f.Path),
			})
			continue
		}
		j.sees("file", "%s (--%s) is good", f.Path, f.Option)
		if f.Ends != nil {
			j.end(*f.Ends, finding{what: fmt.Sprintf("a certificate in %s (--%s)", f.Path, f.Option), do: "Renew it, and replace the file: a node that runs reads it again."})
		}
	}
}

// end judges when a certificate ends, which f names.
func (j *judge) end(at time.Time, f finding) {
	left, when := at.Sub(j.at), at.UTC().Format(time.RFC3339)
	if left < 0 {
		f.what += " has ended at " + when
		j.critical(certificateEnds, f)
		return
	}
	f.what += fmt.Sprintf(" ends in %s, at %s", plain.Duration(left), when)
	switch {
	case left < certificateStops:
		j.critical(certificateEnds, f)
	case left < certificateWarns:
		j.warning(certificateEnds, f)
	}
}
