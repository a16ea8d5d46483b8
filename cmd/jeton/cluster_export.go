package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/internal/build"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/internal/replace"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/backup"
	"github.com/jeton-dev/jeton/rpc/client"
)

func clusterExportVerb() *cobra.Command {
	var (
		r    remote
		file string
	)
	cmd := &cobra.Command{
		Use:        "export",
		SuggestFor: []string{"backup", "dump", "save"},
		Short:      "Write the limits, the overrides and the audit log into one file",
		Long: "Write the limits, the overrides and the audit log into one file, for jeton cluster import and for people to read. It is JSON,\n" +
			"and only its owner may read it: it names keys, and who has done what from where.\n\n" +
			"What buckets have spent is not in it: see " + build.Page("move.md") + ".",
		Example: "  jeton cluster export -o cluster.json\n  jeton cluster export | jq '.content.overrides[]'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, err := c.Export(ctx)
				if err != nil {
					return err
				}
				if file == "" || file == "-" {
					_, err = cmd.OutOrStdout().Write(text)
					return err
				}
				if err := replace.File(file, text, nil); err != nil {
					return fmt.Errorf("-o: %w", err)
				}
				f, err := backup.Decode(text)
				if err != nil {
					return err
				}
				return plain.Fprintf(cmd.ErrOrStderr(), "%s: version %d of the limits; overrides: %d; entries of the audit log: %d\n",
					file, f.Content.Limits.Version, len(f.Content.Overrides), len(f.Content.Audit.Entries))
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVarP(&file, "out", "o", "", "the file to write, which is replaced as a whole; empty or - is standard output")
	return cmd
}

// importWithin is how long an import may take: thousands of overrides are agreed on one by one.
const importWithin = time.Minute

func clusterImportVerb() *cobra.Command {
	var (
		r     remote
		file  string
		asked client.Import
	)
	cmd := &cobra.Command{
		Use:        "import -f FILE",
		SuggestFor: []string{"restore", "load"},
		Short:      "Put the limits and overrides of an exported file in force",
		Long: "Put the limits and overrides of a file that jeton cluster export has written in force, and say what changes. All of the file is\n" +
			"checked before anything is changed: one that is cut off, was edited, or comes from a newer release is refused.\n\n" +
			"A file that leaves out limits in force is refused, and overrides in force stay that it does not have, unless --remove says that both\n" +
			"are to go. Overrides that have ended meanwhile are left out. The audit log of the file is not imported; that of this cluster gets an\n" +
			"entry that names the file. First the limits change, all or none, then the overrides, one after the other: what was interrupted is\n" +
			"completed by the same import again.",
		Example: "  jeton cluster import -f cluster.json --dry-run\n  jeton cluster import -f cluster.json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := readExport(cmd.InOrStdin(), file)
			if err != nil {
				return err
			}
			if _, err := backup.Decode(text); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			asked.File = text
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				if err := sayNoLeader(ctx, c, cmd.ErrOrStderr(), r.timeout); err != nil {
					return err
				}
				done, err := c.Import(ctx, asked)
				if err != nil {
					return err
				}
				return printImport(cmd.OutOrStdout(), cmd.ErrOrStderr(), done, asked.DryRun)
			})
		},
	}
	r.addFlagsWith(cmd, importWithin)
	cmd.Flags().StringVarP(&file, "file", "f", "", "what jeton cluster export has written; - reads standard input")
	cmd.Flags().BoolVar(&asked.Remove, "remove", false, "remove limits and overrides that the file does not have")
	cmd.Flags().BoolVar(&asked.DryRun, "dry-run", false, "only say what would change")
	return cmd
}

// sayNoLeader says what a change waits for that begins while the cluster has no leader. A node alone has no status, and needs none.
func sayNoLeader(ctx context.Context, c *client.Client, w io.Writer, within time.Duration) error {
	var s cluster.Status
	text, err := c.Status(ctx)
	if known := err == nil && json.Unmarshal(text, &s) == nil; !known || s.Leader != "" {
		return nil // what else is wrong the change itself says
	}
	return plain.Fprintf(w, "the cluster has no leader, as %s sees it: waiting for one, up to %v (--timeout); jeton cluster status shows which nodes are down\n", s.Node, within)
}

// readExport reads the file of an import, no more than one may have.
func readExport(in io.Reader, file string) ([]byte, error) {
	switch file {
	case "":
		return nil, errors.New("-f: name the file that jeton cluster export has written, or - for standard input")
	case "-":
	default:
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("-f: %w", err)
		}
		defer f.Close() //nolint:errcheck // it is only read
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, backup.MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("-f: %w", err)
	}
	return text, nil
}

// printImport says what an import has changed, or would change.
func printImport(out, progress io.Writer, done client.Imported, dry bool) error {
	if err := printChange(out, done.Limits); err != nil {
		return err
	}
	if len(done.Limits.Names()) == 0 {
		if _, err := fmt.Fprintf(progress, "limits: %s\n", unchanged(done.Limits)); err != nil {
			return err
		}
	}
	for _, line := range done.Overrides {
		if err := plain.Fprintf(out, "%s\n", line); err != nil {
			return err
		}
	}
	would := ""
	if dry {
		would = "would be "
	}
	if err := plain.Fprintf(progress, "overrides: %d %sset, %d removed", done.Set, would, done.Removed); err != nil {
		return err
	}
	if done.Kept > 0 {
		if err := plain.Fprintf(progress, ", %d kept that the file does not have (--remove removes them)", done.Kept); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(progress); err != nil {
		return err
	}
	said := "the limits and overrides of the file are in force"
	if dry {
		said = "nothing was changed"
	}
	_, err := fmt.Fprintln(progress, said)
	return err
}
