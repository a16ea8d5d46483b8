package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/jeton-dev/jeton/cluster-tests/history"
)

// show writes what the checkers have found.
func show(o options, h *history.History, results []history.Result, out io.Writer) error {
	if o.output == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(results)
	}
	return table(h, results, out)
}

func table(h *history.History, results []history.Result, out io.Writer) error {
	fmt.Fprintf(out, "%d calls of %d limits, %d faults\n\n", len(h.Calls), len(h.Limits), len(h.Faults))
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CHECKER\tCHECKED\tUNKNOWN\tVERDICT\t")
	for _, r := range results {
		verdict := "holds"
		if r.Found > 0 {
			verdict = fmt.Sprintf("VIOLATED %d times", r.Found)
		}
		fmt.Fprintf(t, "%s\t%d %s\t%d\t%s\t%s\n", r.Checker, r.Checked, r.Things, r.Unknown, verdict, r.Note)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range results {
		if err := r.Err(); err != nil {
			fmt.Fprintf(out, "\n%v\n", err)
		}
	}
	return nil
}
