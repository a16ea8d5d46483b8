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

// holdsOutput is the JSON form of jeton holds.
type holdsOutput struct {
	Limit string `json:"limit"`
	Key   string `json:"key"`
	Now   int64  `json:"now_ns,string"` // the node clock
	// Unknown says that no replica has a bucket for the key: it was never asked for, or the bucket was full and was removed.
	Unknown bool             `json:"unknown,omitempty"`
	Debt    int64            `json:"debt"`  // tokens that the bucket is overdrawn by
	Holds   *limit.HoldsSeen `json:"holds"` // null: the limit takes none, or nothing is known of them
}

func holdsVerb() *cobra.Command {
	var (
		r    remote
		plan string
	)
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "holds LIMIT KEY",
		Short: "List the holds of a bucket: what each holds, what was used of it, and when it expires",
		Long: "List the holds of a bucket, the newest first and at most 100: what each holds, what settlements have said to be used of it, and\n" +
			"when it expires. Looking changes nothing. The number of a hold tells it apart from others; it does not settle it.",
		Example: "  jeton holds tokens user:42\n  jeton holds tokens user:42 --output json | jq .holds.tokens",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				in, err := c.Inspect(ctx, args[1], limit.Named(args[0]), plan)
				if err != nil {
					return err
				}
				if output.Value == "json" {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(holdsOutput{
						Limit: args[0], Key: in.Key, Now: in.Now, Unknown: in.Unknown(), Debt: in.Debt, Holds: in.Holds,
					})
				}
				return debug.WriteHolds(cmd.OutOrStdout(), in)
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Var(output, "output", "form of the output")
	cmd.Flags().StringVar(&plan, "plan", "", "show the bucket by the numbers of this plan, not by those that the last check went by")
	return cmd
}
