package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/client"
)

func auditVerb() *cobra.Command {
	var (
		r    remote
		last int
	)
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:        "audit",
		SuggestFor: []string{"log", "history", "events"},
		Short:      "Show what operators have done: who, when, what, from where",
		Long: "Show what operators have done, the oldest first: changes of limits, buckets that were filled, drains, removals and\n" +
			"recoveries, with who did it, when, and from where. The cluster keeps the newest of each kind: 400 of buckets, 200 of resets, 400 of all else.",
		Example: "  jeton audit\n  jeton audit --last 20\n  jeton audit --output json | jq '.entries[] | select(.verb == \"set limits\")'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if last < 0 || last > 1<<30 {
				return errors.New("--last: give a number from 1 on, or 0 for all that are kept")
			}
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, err := c.Audit(ctx, last)
				if err != nil {
					return err
				}
				if output.Value == "json" {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), string(text))
					return err
				}
				var log cluster.AuditLog
				if err := json.Unmarshal(text, &log); err != nil {
					return fmt.Errorf("the node speaks another version of jeton: %w", err)
				}
				return printAudit(cmd.OutOrStdout(), &log)
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().IntVar(&last, "last", 0, "how many entries, the newest; 0 is all that are kept")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// printAudit writes the audit log as a table.
func printAudit(w io.Writer, log *cluster.AuditLog) error {
	if len(log.Entries) == 0 {
		_, err := fmt.Fprintln(w, "no operator has changed anything yet")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "no.\twhen\twho\tfrom\tnode\twhat")
	for i := range log.Entries {
		e := &log.Entries[i]
		what := strings.TrimSpace(e.Verb + " " + e.Object)
		if e.Detail != "" {
			what += ": " + e.Detail
		}
		_ = plain.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", e.Number, secondOf(e.At), e.Who, orDash(e.From), e.Node, what) // Flush tells of an error
	}
	return table.Flush()
}

// secondOf is a time as tables of operators show it; a dash for the zero time.
func secondOf(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	return at.UTC().Format("2006-01-02 15:04:05Z")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
