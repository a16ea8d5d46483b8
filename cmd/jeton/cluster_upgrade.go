package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/build"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/client"
)

func clusterUpgradeVerb() *cobra.Command {
	var (
		r      remote
		to     int
		dry    bool
		output = cli.NewChoice("text", "json")
	)
	cmd := &cobra.Command{
		Use:        "upgrade",
		SuggestFor: []string{"raise", "finalize", "migrate"},
		Short:      "Raise the level of the cluster, once every node runs a release that knows it",
		Long: "Raise the level of the cluster: what nodes may say to one another and write to their disks. Run it as the last step of an\n" +
			"upgrade, when every node runs the new release and nobody wants to go back: releases that do not know the level are kept\n" +
			"out from then on, and refuse the disks. Until then, each node can go back to the release before. See\n" +
			build.Page("upgrade.md") + ".\n\n" +
			"Every member is asked first; where one does not answer, or does not know the level, nothing changes.",
		Example: "  jeton cluster upgrade --dry-run\n  jeton cluster upgrade",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to < 0 {
				return fmt.Errorf("--to %d: it is no level; 0 is the newest that every node knows", to)
			}
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				u, err := c.Upgrade(ctx, to, dry)
				if err != nil {
					return err
				}
				if output.Value == "json" {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(u)
				}
				return printUpgrade(cmd.OutOrStdout(), u, dry)
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().IntVar(&to, "to", 0, "the level; 0 is the newest that every node knows")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "only say what would change")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// printUpgrade says what has become of the level.
func printUpgrade(out io.Writer, u client.Upgraded, dry bool) error {
	var knows []string
	for _, m := range u.Members {
		knows = append(knows, fmt.Sprintf("%s knows %s", strings.TrimSpace(m.Name+" "+m.Release), m.Levels))
	}
	members := strings.Join(knows, ", ")
	switch {
	case u.To == u.From:
		return plain.Fprintf(out, "the cluster stays at level %d: %s\n", u.From, members)
	case dry:
		return plain.Fprintf(out, "the cluster would be raised from level %d to %d: %s\n", u.From, u.To, members)
	}
	return plain.Fprintf(out, "the cluster is raised from level %d to %d: %s\n", u.From, u.To, members)
}
