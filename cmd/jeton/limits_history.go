package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/client"
)

func limitsHistoryVerb() *cobra.Command {
	var r remote
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "history [VERSION]",
		Short: "Show the last versions of the limits, with who and when, or print one",
		Long: "Show the last versions of the limits, the oldest first, with who put them in force and when. With a version, print its\n" +
			"document, which limits apply and limits diff take. The cluster keeps the last 20 versions, and at most 1 MiB of documents\n" +
			"beside the one in force.",
		Example: "  jeton limits history\n  jeton limits history 3 > limits.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var version uint64
			if len(args) > 0 {
				var err error
				if version, err = versionOf(args[0]); err != nil {
					return err
				}
			}
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, err := c.LimitsHistory(ctx, version)
				if err != nil {
					return err
				}
				if output.Value == "json" {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), string(text))
					return err
				}
				var editions []cluster.Edition
				if err := json.Unmarshal(text, &editions); err != nil {
					return fmt.Errorf("the node speaks another version of jeton: %w", err)
				}
				if version == 0 {
					return printHistory(cmd.OutOrStdout(), editions)
				}
				for i := range editions {
					if _, err := fmt.Fprint(cmd.OutOrStdout(), editions[i].Document); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// versionOf is a version of the limits as an argument says it.
func versionOf(said string) (uint64, error) {
	version, err := strconv.ParseUint(said, 10, 64)
	if err != nil || version == 0 {
		return 0, fmt.Errorf("VERSION: %q is no version of the limits: give a number that jeton limits history shows, such as 3", said)
	}
	return version, nil
}

// printHistory writes the versions as a table.
func printHistory(w io.Writer, editions []cluster.Edition) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "version\twhen\twho\tfrom\tnode\twhat")
	for i := range editions {
		e := &editions[i]
		what := orDash(e.Detail)
		if e.InForce {
			what += " (in force)"
		}
		_ = plain.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", e.Version, secondOf(e.At), orDash(e.Who), orDash(e.From), orDash(e.Node), what) // Flush tells of an error
	}
	return table.Flush()
}

func limitsRollbackVerb() *cobra.Command {
	var (
		r     remote
		asked client.Apply
	)
	cmd := &cobra.Command{
		Use:        "rollback VERSION",
		SuggestFor: []string{"revert", "restore", "undo"},
		Short:      "Bring back a version of the limits",
		Long: "Bring back a version of the limits that limits history shows, as a new version. It prints what that changes and what it\n" +
			"does to buckets in use, and then applies it, if the version in force has not changed meanwhile. Where that version lacks\n" +
			"limits that are in force, it is refused without --remove: checks that name them would fail.",
		Example: "  jeton limits rollback 3 --dry-run\n  jeton limits rollback 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := versionOf(args[0])
			if err != nil {
				return err
			}
			asked.Rollback = version
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				would, err := dryRun(ctx, c, asked)
				if err != nil {
					return err
				}
				change, err := putInForce(ctx, c, asked, would, func(would client.Applied) error { return printChange(cmd.OutOrStdout(), would) })
				if err != nil {
					return err
				}
				return sayInForce(cmd.ErrOrStderr(), change, asked.DryRun, "")
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().BoolVar(&asked.Remove, "remove", false, "remove the limits that the version lacks; without it such a rollback is refused")
	cmd.Flags().BoolVar(&asked.DryRun, "dry-run", false, "only say what would change")
	return cmd
}
