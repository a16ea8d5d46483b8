package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/debug"
)

func limitsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "limits",
		Short:   "See and change the limits in force",
		Example: "  jeton limits get > limits.yaml\n  jeton limits apply -f limits.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(limitsGetVerb(), limitsDiffVerb(), limitsApplyVerb())
	return cmd
}

func limitsGetVerb() *cobra.Command {
	var r remote
	output := newChoice("yaml", "json")
	cmd := &cobra.Command{
		Use:     "get",
		Short:   "Print the limits in force as a document that --limits and limits apply take",
		Example: "  jeton limits get > limits.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, version, err := c.LimitsText(ctx)
				if err != nil {
					return err
				}
				if output.value == "json" {
					doc, err := limit.ParseDocument([]byte(text))
					if err != nil {
						return err
					}
					return json.NewEncoder(cmd.OutOrStdout()).Encode(doc)
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "# version %d\n%s", version, text)
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
		r    remote
		file string
	)
	cmd := &cobra.Command{
		Use:     "diff -f FILE",
		Short:   "Show what limits apply would change",
		Long:    "Show what limits apply would change, and change nothing.\n\nExit codes: 0 nothing, 1 something, 2 error.",
		Example: "  jeton limits diff -f limits.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, err := readDocument(cmd.InOrStdin(), file)
				if err != nil {
					return err
				}
				change, err := c.ApplyLimits(ctx, string(text), 0, true)
				if err != nil {
					return err
				}
				if err := printChange(cmd.OutOrStdout(), change); err != nil {
					return err
				}
				if len(change.Added)+len(change.Changed)+len(change.Removed) > 0 {
					return errDenied
				}
				return nil
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "the YAML document; - reads standard input")
	return cmd
}

func limitsApplyVerb() *cobra.Command {
	var (
		r       remote
		file    string
		version uint64
		dryRun  bool
	)
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Put other limits in force in the whole cluster",
		Long: "Put the limits of a document in force in the whole cluster, all or none, within a second. What buckets have spent\n" +
			"stays spent: debt is measured in time. Limits that the document leaves out are gone.\n\n" +
			"If somebody else changes the limits at the same time, one of the two is refused. With --version, which limits get\n" +
			"shows, it is also refused if they were changed since.",
		Example: "  jeton limits apply -f limits.yaml --dry-run\n  jeton limits apply -f limits.yaml\n" +
			"  jeton limits apply -f limits.yaml --version 4",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, err := readDocument(cmd.InOrStdin(), file)
				if err != nil {
					return err
				}
				change, err := c.ApplyLimits(ctx, string(text), version, dryRun)
				if err != nil {
					return err
				}
				if err := printChange(cmd.OutOrStdout(), change); err != nil {
					return err
				}
				said := fmt.Sprintf("version %d is in force", change.Version)
				if dryRun {
					said = fmt.Sprintf("nothing was changed: version %d is in force", change.Version)
				}
				_, err = fmt.Fprintln(cmd.ErrOrStderr(), said)
				return err
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVarP(&file, "file", "f", "", "the YAML document; - reads standard input")
	cmd.Flags().Uint64Var(&version, "version", 0, "apply only if this version is in force; 0 replaces the one in force now")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would change")
	return cmd
}

// readDocument reads a limits document and makes sure that it is one, so that what is wrong is told with its line.
func readDocument(stdin io.Reader, file string) (text []byte, err error) {
	switch file {
	case "":
		return nil, errors.New("-f: name the file with the limits, or - for standard input")
	case "-":
		text, err = io.ReadAll(stdin)
	default:
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("-f: %w", err)
	}
	if _, err := limit.ParseDocument(text); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return text, nil
}

// printChange writes a line for each limit that is not as it was.
func printChange(w io.Writer, change client.Applied) error {
	for _, kind := range []struct {
		sign  string
		names []string
	}{{"+", change.Added}, {"~", change.Changed}, {"-", change.Removed}} {
		for _, name := range kind.names {
			if err := debug.Printf(w, "%s %s\n", kind.sign, name); err != nil {
				return err
			}
		}
	}
	return nil
}
