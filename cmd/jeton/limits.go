package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/rpc/client"
)

func limitsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "limits",
		Short:   "See and change the limits in force",
		Example: "  jeton limits get > limits.yaml\n  jeton limits apply -f limits.yaml",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(limitsGetVerb(), limitsDiffVerb(), limitsApplyVerb(), limitsHistoryVerb(), limitsRollbackVerb(), limitsOverrideVerb())
	return cmd
}

func limitsGetVerb() *cobra.Command {
	var r remote
	output := cli.NewChoice("yaml", "json")
	cmd := &cobra.Command{
		Use:        "get",
		SuggestFor: []string{"show", "list", "ls", "print", "export"},
		Short:      "Print the limits in force as a document that --limits and limits apply take",
		Long: "Print the limits in force as a document that --limits and limits apply take. Its first line is a comment with the version\n" +
			"in force: limits apply replaces that version only. Remove the line from a file that is to replace any.",
		Example: "  jeton limits get > limits.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, version, err := c.LimitsText(ctx)
				if err != nil {
					return err
				}
				if output.Value == "json" {
					doc, err := limit.ParseDocument([]byte(text))
					if err != nil {
						return err
					}
					return json.NewEncoder(cmd.OutOrStdout()).Encode(doc)
				}
				_, err = fmt.Fprint(cmd.OutOrStdout(), withVersion(version, text))
				return err
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

func limitsDiffVerb() *cobra.Command {
	var (
		r     remote
		file  string
		merge bool
	)
	cmd := &cobra.Command{
		Use:   "diff -f FILE",
		Short: "Show what limits apply would change",
		Long: "Show what limits apply would change, and what that does to buckets in use, and change nothing.\n\n" +
			"Exit codes: 0 nothing, 1 something, 2 error.",
		Example: "  jeton limits diff -f limits.yaml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				d, err := readDocument(cmd.InOrStdin(), file)
				if err != nil {
					return err
				}
				if merge {
					if d, _, err = d.merged(ctx, c); err != nil {
						return err
					}
				}
				change, err := c.ApplyLimits(ctx, client.Apply{Document: d.text, DryRun: true})
				if errors.Is(err, limit.ErrUnauthenticated) { // which limits there are is no secret, only which are in use
					change, err = differenceTo(ctx, c, d.text)
				}
				if err != nil {
					return err
				}
				if err := printChange(cmd.OutOrStdout(), change); err != nil {
					return err
				}
				if len(change.Names()) == 0 {
					return nil
				}
				if d.otherThan(change.Version) {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d: the document was made from version %d, and version %d is in force\n", d.file, d.line, d.version, change.Version)
				}
				return cli.ErrNo
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "the YAML document; - reads standard input")
	cmd.Flags().BoolVar(&merge, "merge", false, "what limits apply --merge would change")
	return cmd
}

// differenceTo is what a document would change.
func differenceTo(ctx context.Context, c *client.Client, text string) (client.Applied, error) {
	after, err := limit.ParseDocument([]byte(text))
	if err != nil {
		return client.Applied{}, err
	}
	stored, version, err := c.LimitsText(ctx)
	if err != nil {
		return client.Applied{}, err
	}
	before, err := limit.ParseDocument([]byte(stored))
	if err != nil {
		return client.Applied{}, err
	}
	return client.Applied{Version: version, Changes: limit.Difference(before, after)}, nil
}

func limitsApplyVerb() *cobra.Command {
	var (
		r     remote
		file  string
		asked client.Apply
		merge bool
	)
	cmd := &cobra.Command{
		Use:        "apply -f FILE",
		SuggestFor: []string{"set", "put", "update", "edit", "import"},
		Short:      "Put other limits in force in the whole cluster",
		Long: "Put the limits of a document in force in the whole cluster, all or none, within a second. What buckets have spent\n" +
			"stays spent: debt is measured in time. A document that leaves out limits that are in force is refused, unless --merge\n" +
			"says that they stay as they are, or --remove that they are to go: checks that name them fail from then on.\n\n" +
			"Of two concurrent changes, one gets a version conflict. A document that begins with\n" +
			"the comment # version 4, as limits get prints it, is also refused if they were changed since. --version takes the place\n" +
			"of that comment. A document that says what is in force already changes nothing, and makes no new version.",
		Example: "  jeton limits apply -f limits.yaml --dry-run\n  jeton limits apply -f limits.yaml\n" +
			"  jeton limits apply -f limits.yaml --version 4\n" +
			"  jeton limits apply -f one-more.yaml --merge\n" +
			"  jeton limits apply -f limits.yaml --remove",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				if merge && asked.Remove {
					return errors.New("--merge keeps the limits that the document leaves out, and --remove removes them: leave one of them out")
				}
				d, err := readDocument(cmd.InOrStdin(), file)
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("version") {
					d.line = 0 // it does not matter from which version the document says that it was made
				}
				change, err := d.apply(ctx, c, asked, merge, func(would client.Applied) error { return printChange(cmd.OutOrStdout(), would) })
				if err != nil {
					return err
				}
				return sayInForce(cmd.ErrOrStderr(), change, asked.DryRun, d.beforeTheNext(change))
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "the YAML document; - reads standard input")
	cmd.Flags().Uint64Var(&asked.Version, "version", 0, "apply only if this version is in force, whatever the first line of the document says; 0 replaces the one in force now")
	cmd.Flags().BoolVar(&asked.Remove, "remove", false, "remove the limits that the document leaves out; without it such a document is refused")
	cmd.Flags().BoolVar(&merge, "merge", false, "leave the limits as they are that the document leaves out")
	cmd.Flags().BoolVar(&asked.DryRun, "dry-run", false, "only say what would change")
	return cmd
}
