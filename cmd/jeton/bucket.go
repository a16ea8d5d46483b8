package main

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/debug"
)

func bucketVerb() *cobra.Command {
	var r remote
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:     "bucket LIMIT KEY",
		Short:   "Show a bucket on its line: why a key is denied, and until when",
		Long:    "Show a bucket on its line: why a key is denied, and until when. Looking changes nothing.",
		Example: "  jeton bucket login user:42",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				in, err := c.Inspect(ctx, args[1], limit.Named(args[0]))
				if err != nil {
					return err
				}
				if output.Value == "json" {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(in)
				}
				return debug.WriteBucket(cmd.OutOrStdout(), in)
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}
