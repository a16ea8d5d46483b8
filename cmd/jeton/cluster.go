package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/debug"
)

func clusterVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "See and change which nodes the cluster has",
		Example: "  jeton cluster status\n  jeton cluster drain node-4",
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(clusterStatusVerb(), clusterDrainVerb(), clusterRemoveVerb(), clusterRecoverVerb(), clusterTokenVerb(),
		clusterExportVerb(), clusterImportVerb(), clusterUpgradeVerb())
	return cmd
}

func clusterStatusVerb() *cobra.Command {
	var (
		r      remote
		strict bool
		output = cli.NewChoice("text", "json")
	)
	cmd := &cobra.Command{
		Use:        "status",
		SuggestFor: []string{"show", "get", "info", "nodes", "members", "list", "ls"},
		Short:      "Show whether every key can be decided, the nodes, what they keep, and what is being moved",
		Long: "Show whether every key can be decided, the nodes, what they keep, and what is being moved. All of it is what the node\n" +
			"that is asked knows.\n\n" +
			"Exit codes: 0 some keys can be decided, or with --strict all of them; 1 not so; 2 no node answers. They are those of\n" +
			"a node's /readyz and /readyz?strict.",
		Example: "  jeton cluster status\n" +
			"  jeton cluster status --strict || ./call-somebody\n" +
			"  jeton cluster status --output json | jq '.nodes[].name'",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, err := c.Status(ctx)
				if err != nil {
					return err
				}
				var s cluster.Status
				if err := json.Unmarshal(text, &s); err != nil {
					return fmt.Errorf("the node speaks another version of jeton: %w", err)
				}
				if output.Value == "json" {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), string(text))
				} else {
					err = debug.WriteStatus(cmd.OutOrStdout(), &s)
				}
				return cmp.Or(err, verdictOf(s.Deciding, strict))
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 unless every key can be decided, not only where none can be")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// verdictOf is how a status ends: as /readyz answers, or strictly as /readyz?strict does.
func verdictOf(d ring.Deciding, strict bool) error {
	if d.Verdict == ring.DecidesNone || strict && d.Verdict != ring.DecidesAll {
		return cli.ErrNo
	}
	return nil
}

// drainEvery is how often a drain is looked at.
const drainEvery = 300 * time.Millisecond

func clusterDrainVerb() *cobra.Command {
	var (
		r    remote
		undo bool
	)
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Move every partition off a node, so that it can be stopped and removed",
		Long: "Move every partition off a node, while checks go on. It ends when the node keeps nothing any more and is safe to\n" +
			"stop for good. Interrupting it does not stop the drain: --undo does.",
		Example: "  jeton cluster drain node-4\n  jeton cluster drain node-4 --undo",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(_ context.Context, c *client.Client) error {
				return drain(cmd.Context(), &r, c, args[0], undo, cmd.ErrOrStderr())
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().BoolVar(&undo, "undo", false, "let the node keep its partitions, and get others again")
	return cmd
}

// drain asks again and again until nothing is left on the node.
func drain(ctx context.Context, r *remote, c *client.Client, node string, undo bool, progress io.Writer) error {
	last := -1
	for {
		once, cancel := context.WithTimeout(ctx, r.timeout)
		left, err := c.Drain(once, node, undo)
		unanswered := once.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, limit.ErrUnavailable)
		if err != nil && unanswered && !undo && (last >= 0 || !r.unsent(err)) {
			err = &hintedError{fmt.Errorf("%w; a drain that has begun goes on: jeton cluster status shows it, jeton cluster drain %s waits for it, and --undo ends it", r.explain(once, err), node)}
		}
		cancel()
		switch {
		case err != nil:
			return err
		case undo:
			_, err = fmt.Fprintf(progress, "%s is given partitions again\n", node)
			return err
		case left == 0:
			_, err = fmt.Fprintf(progress, "%s keeps nothing any more: stop it, then run jeton cluster remove %s\n", node, node)
			return err
		case left != last:
			last = left
			if _, err := fmt.Fprintf(progress, "%s: %d %s left\n", node, left, plain.Plural(left, "partition", "partitions")); err != nil {
				return err
			}
		}
		select {
		case <-time.After(drainEvery):
		case <-ctx.Done():
			return fmt.Errorf("the drain of %s goes on; jeton cluster drain %s --undo ends it", node, node)
		}
	}
}

func clusterRemoveVerb() *cobra.Command {
	var (
		r     remote
		force bool
	)
	cmd := &cobra.Command{
		Use:        "remove NODE",
		SuggestFor: []string{"delete", "rm"},
		Short:      "Remove a node from the cluster, permanently",
		Long: "Remove a node from the cluster, permanently: its disk is refused from then on. A node that still keeps partitions is\n" +
			"drained first, or, if it is dead for good, removed with --force: its partitions are then completed elsewhere from\n" +
			"what the other replicas know. --force is refused while the node answers.",
		Example: "  jeton cluster remove node-4\n  jeton cluster remove node-4 --force   # its disk is lost",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				if err := c.Remove(ctx, args[0], force); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s is no member any more\n", args[0])
				return err
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "although the node keeps partitions, or too few nodes are left to keep all replicas; it must be stopped")
	return cmd
}

func clusterTokenVerb() *cobra.Command {
	var (
		file     string
		insecure bool
	)
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print the token that proves an operator without showing the cluster key",
		Long: "Print a bearer token for what operators do: over HTTP in the header Authorization, over gRPC with --token-file. It is\n" +
			"derived from the cluster key, which cannot be had from it.",
		Example: "  jeton cluster token --cluster-key-file key\n" +
			"  curl -T limits.yaml -H \"Authorization: Bearer $(jeton cluster token --cluster-key-file key)\" http://localhost:7702/v1/limits",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("--cluster-key-file: name the file with the cluster key")
			}
			k, err := key.Read(file, insecure)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), k.Token())
			return err
		},
	}
	cmd.Flags().StringVar(&file, "cluster-key-file", "", "file with the cluster key")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "take a file that others on this machine may read")
	return cmd
}
