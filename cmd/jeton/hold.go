package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/client"
)

func holdVerb() *cobra.Command {
	var (
		r       remote
		request limit.Request
		output  = cli.NewChoice("text", "json")
	)
	cmd := &cobra.Command{
		Use:   "hold LIMIT[,LIMIT…] KEY",
		Short: "Take tokens for a time, by an estimate of the cost",
		Long: "Take tokens of every LIMIT for a time, where the cost is only an estimate. jeton settle says later how many were used: what is\n" +
			"left of the hold comes back, and what was used beyond it is charged. What becomes of a hold that is not settled in time is\n" +
			"for the field on_expiry of the limit to say. With --least, a hold takes what is left where that is less than the cost.\n\n" +
			"Exit codes: 0 allowed, 1 denied, 2 no decision was made.",
		Example: "  jeton hold tokens user:42 --cost 3000 --for 60s\n  jeton hold tokens,per-day user:42 --cost 3000 --least 100 --for 60s\n" +
			"  hold=$(jeton hold tokens user:42 --cost 3000 --for 60s --output json | jq -r .hold)",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fitsHold(cmd, &request); err != nil {
				return err
			}
			asked := requestsOf(request, args)[0]
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				d, err := c.Check(ctx, asked)
				if err == nil && d.Allowed && d.Hold == nil {
					err = errors.New("the node answered without a hold: it is of an older release, and has taken the tokens for good")
				}
				if err != nil {
					return byFlag(err, map[string]string{"hold": "for", "least": "least", "cost": "cost", "plan": "plan"})
				}
				if output.Value == "json" {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(d)
				} else {
					err = printHold(cmd.OutOrStdout(), d)
				}
				if err == nil && !d.Allowed {
					err = cli.ErrNo
				}
				return err
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Int64Var(&request.Cost, "cost", 1, "tokens to take of each limit: an estimate")
	cmd.Flags().DurationVar(&request.Hold, "for", 0, "how long to hold them, such as 60s, at most the hold of every limit; required")
	cmd.Flags().Int64Var(&request.Least, "least", 0, "take what is left where that is less than the cost, and at least this; 0 takes the cost or nothing")
	cmd.Flags().StringVar(&request.ID, "request-id", "", "makes a repeated request get the first one's answer")
	cmd.Flags().StringVar(&request.Plan, "plan", "", "name of a plan, whose numbers take the place of those of the limits")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// fitsHold says which flags of a hold are missing or cannot be.
func fitsHold(cmd *cobra.Command, request *limit.Request) error {
	switch {
	case !cmd.Flags().Changed("for"):
		return fmt.Errorf("--for is missing: say how long to hold, as in %s", cli.ExampleOf(cmd))
	case request.Hold <= 0:
		return fmt.Errorf("--for: %v is not after now: give a time such as 60s", request.Hold)
	case request.Cost < 1:
		return fmt.Errorf("--cost: %d: use 1 or more tokens", request.Cost)
	case request.Least < 0 || request.Least > request.Cost:
		return fmt.Errorf("--least: %d is not from 1 to the cost, %d", request.Least, request.Cost)
	}
	return nil
}

// byFlag is err, which names the flag that stands for its field, if there is one.
func byFlag(err error, flags map[string]string) error {
	if fe, is := errors.AsType[*limit.FieldError](err); is && flags[fe.Field] != "" {
		return fmt.Errorf("--%s: %s", flags[fe.Field], fe.Problem)
	}
	return err
}

// printHold writes a line for each limit, and two for what the hold has taken.
func printHold(w io.Writer, d limit.Decision) error {
	if err := printDecision(w, d, false); err != nil || d.Hold == nil {
		return err
	}
	return plain.Fprintf(w, "granted %d\nhold    %s\n", d.Hold.Granted, d.Hold)
}
