package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/client"
)

func checkVerb() *cobra.Command {
	var (
		r       remote
		request limit.Request
		output  = cli.NewChoice("text", "json")
	)
	cmd := &cobra.Command{
		Use:   "check LIMIT[,LIMIT…] KEY",
		Short: "Ask whether a key may spend tokens, and spend them",
		Long: "Ask whether KEY may spend tokens of every LIMIT, and spend them if so.\n\n" +
			"Exit codes: 0 allowed, 1 denied, 2 no decision was made.",
		Example: "  jeton check login user:42\n  jeton check per-second,per-hour user:42 --cost 3\n" +
			"  jeton check login user:42 --look\n  jeton check login user:42 && ./log-in",
		RunE: func(cmd *cobra.Command, args []string) error {
			for name := range strings.SplitSeq(args[0], ",") {
				request.Limits = append(request.Limits, limit.Named(name))
			}
			request.Key = args[1]
			switch {
			case request.Look && cmd.Flags().Changed("cost"):
				return errors.New("--look spends nothing: leave --cost out")
			case request.Look:
				request.Cost = 0
			case request.Cost < 1:
				return fmt.Errorf("--cost: %d: use 1 or more tokens, or --look to spend none", request.Cost)
			}
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				d, err := c.Check(ctx, request)
				if err != nil {
					return err
				}
				if output.Value == "json" {
					err = json.NewEncoder(cmd.OutOrStdout()).Encode(d)
				} else {
					err = printDecision(cmd.OutOrStdout(), d, request.Look)
				}
				if err == nil && !d.Allowed {
					err = cli.ErrNo
				}
				return err
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Int64Var(&request.Cost, "cost", 1, "tokens to spend")
	cmd.Flags().BoolVar(&request.Look, "look", false, "only say what is left, and spend nothing; the exit code is 0 however little that is")
	cmd.Flags().StringVar(&request.ID, "request-id", "", "makes a repeated request get the first one's answer")
	cmd.Flags().BoolVar(&request.Receipt, "receipt", false, "ask for receipts (shown with --output json)")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// printDecision writes a line for each limit. A look is neither allowed nor denied.
func printDecision(w io.Writer, d limit.Decision, look bool) error {
	for _, o := range d.Limits {
		line := fmt.Sprintf("%s: %d of %d left", o.Name, o.Remaining, o.Limit)
		switch {
		case o.Never:
			line += "; the cost is above the capacity and can never pass"
		case !o.Allowed:
			line += "; try again in " + plain.Duration(o.RetryAfter)
		case o.ResetAfter > 0:
			line += "; full again in " + plain.Duration(o.ResetAfter)
		}
		word := "allowed"
		switch {
		case look:
			word = "look   "
		case !o.Allowed:
			word = "denied "
		case !d.Allowed:
			word = "spared "
		}
		if err := plain.Fprintf(w, "%s %s\n", word, line); err != nil {
			return err
		}
	}
	return nil
}
