package main

import (
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
	"github.com/jeton-dev/jeton/rpc/client"
)

func settleVerb() *cobra.Command {
	var (
		r          remote
		settlement limit.Settlement
		output     = cli.NewChoice("text", "json")
	)
	cmd := &cobra.Command{
		Use:   "settle HOLD",
		Short: "Say how many tokens of a hold were used",
		Long: "Say how many tokens of a hold were used. What is left of the hold comes back, and what was used beyond it is charged, into debt as far\n" +
			"as the limit allows. A settlement takes effect once: repeat it after an error. With --open the hold goes on until its time, or,\n" +
			"with --for, for so long from now on.\n\n" +
			"Exit codes: 0 settled, 2 error, such as a hold that no limit knows any more.",
		Example: "  jeton settle \"$hold\" --cost 1200\n  jeton settle \"$hold\" --cost 0\n  jeton settle \"$hold\" --cost 1200 --open\n" +
			"  jeton settle \"$hold\" --cost 1200 --open --for 60s",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if settlement.Hold, err = limit.ParseHold(args[0]); err != nil {
				return argumentHold(err)
			}
			if err := fitsSettlement(cmd, &settlement); err != nil {
				return err
			}
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				settled, err := c.Settle(ctx, settlement)
				if err != nil {
					return byFlag(err, map[string]string{"cost": "cost", "for": "for", "hold": "for"})
				}
				if output.Value == "json" {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(settled)
				}
				return printSettled(cmd.OutOrStdout(), settled, settlement.Used)
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Int64Var(&settlement.Used, "cost", 0, "how many tokens were used so far, in all, 0 for none; required")
	cli.SuggestFor(cmd, "cost", "used", "tokens", "amount")
	cmd.Flags().BoolVar(&settlement.Open, "open", false, "more may be used: the hold goes on")
	cmd.Flags().DurationVar(&settlement.For, "for", 0, "with --open: how long the hold lasts from now on, such as 60s; left out, until its time")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// argumentHold is the error of an argument that is no hold.
func argumentHold(err error) error {
	if fe, is := errors.AsType[*limit.FieldError](err); is {
		return errors.New("HOLD: " + fe.Problem)
	}
	return err
}

// fitsSettlement says which flags of a settlement are missing or do not fit each other.
func fitsSettlement(cmd *cobra.Command, s *limit.Settlement) error {
	given := cmd.Flags().Changed("for")
	switch {
	case !cmd.Flags().Changed("cost"):
		return fmt.Errorf("--cost is missing: say how many tokens were used, 0 for none, as in %s", cli.ExampleOf(cmd))
	case given && s.For <= 0:
		return fmt.Errorf("--for: %v is not after now: give a time such as 60s", s.For)
	case given && !s.Open:
		return errors.New("--for: the settlement ends the hold: say --open too, or leave --for out")
	}
	return byFlag(s.Validate(), map[string]string{"cost": "cost", "for": "for"})
}

// printSettled writes a line for each limit, of a settlement that said how many tokens were used.
func printSettled(w io.Writer, s limit.Settled, used int64) error {
	for i := range s.Limits {
		l := &s.Limits[i]
		if err := plain.Fprintf(w, "%-7s %s: %s\n", l.State, l.Name, settledWords(l, used)); err != nil {
			return err
		}
	}
	if len(s.Limits) > 0 {
		return nil
	}
	return plain.Fprintf(w, "settled: the hold had taken nothing of any limit\n")
}

// settledWords are what a settlement came to for a limit.
func settledWords(l *limit.SettledLimit, used int64) string {
	switch l.State {
	case limit.HoldUnknown:
		return "it does not know the hold, or the limit was removed: this settlement charged nothing"
	case limit.HoldLost:
		return fmt.Sprintf("%d charged, in full: the node that took the hold is gone, and nothing comes back", l.Charged)
	case limit.HoldOpen, limit.HoldExpired, limit.HoldSettled:
	}
	words := fmt.Sprintf("%d charged, %d returned", l.Charged, l.Returned)
	if l.Debt > 0 {
		words += fmt.Sprintf("; %d in debt", l.Debt)
	}
	until := time.Unix(0, l.Until).UTC()
	switch {
	case l.State == limit.HoldSettled && l.Charged != used:
		words += fmt.Sprintf("; not the %d of this settlement: max_debt bounds the debt, or another one came first", used)
	case l.State == limit.HoldExpired:
		words += fmt.Sprintf("; it expired at %s and lasts no longer: until %s a settlement for good corrects it",
			until.Format(time.RFC3339), until.Add(limit.SettleLate).Format(time.RFC3339))
	case l.Until > 0:
		words += "; until " + until.Format(time.RFC3339)
	}
	return words
}
