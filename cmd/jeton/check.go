package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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
		Use:   "check LIMIT[,LIMIT…] KEY [LIMIT[,LIMIT…] KEY]…",
		Short: "Ask whether a key may spend tokens, and spend them",
		Long: "Ask whether KEY may spend tokens of every LIMIT, and spend them if so. Of several keys, all may, or nothing is spent: they are " +
			"asked one after another, and when one is denied, what those before it spent is given back. With --wait, a check that would be " +
			"denied now is admitted if it may begin within that time: the answer says when, and it is yours to wait until then.\n\n" +
			"Exit codes: 0 allowed, 1 denied, 2 no decision was made.",
		Example: "  jeton check login user:42\n  jeton check per-second,per-hour user:42 --cost 3\n" +
			"  jeton check per-address ip:192.0.2.7 login user:42 api org:acme\n" +
			"  jeton check api user:42 --plan pro\n" +
			"  jeton check login user:42 --look\n  jeton check login user:42 && ./log-in",
		Args: takesPairs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := fits(cmd, &request, args); err != nil {
				return err
			}
			rs := requestsOf(request, args)
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				if len(rs) > 1 {
					return checkAll(ctx, c, cmd.OutOrStdout(), rs, output.Value == "json")
				}
				d, err := c.Check(ctx, rs[0])
				if err != nil {
					return swapped(err, args[0], args[1])
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
	cmd.Flags().Int64Var(&request.Cost, "cost", 1, "tokens to spend, of each key")
	cmd.Flags().BoolVar(&request.Look, "look", false, "only say what is left, and spend nothing; the exit code is 0 however little that is")
	cmd.Flags().DurationVar(&request.Wait, "wait", 0, "how long you would wait for tokens, such as 2s, at most the wait of every limit; the answer says how long to wait")
	cmd.Flags().StringVar(&request.ID, "request-id", "", "makes a repeated request of one key get the first one's answer")
	cmd.Flags().StringVar(&request.Plan, "plan", "", "name of a plan, whose numbers take the place of those of the limits")
	cmd.Flags().BoolVar(&request.Receipt, "receipt", false, "ask for receipts (shown with --output json)")
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// fits says which flags do not fit each other, and makes a look cost nothing.
func fits(cmd *cobra.Command, request *limit.Request, args []string) error {
	switch {
	case request.Look && cmd.Flags().Changed("cost"):
		return errors.New("--look spends nothing: leave --cost out")
	case request.Look && request.Wait > 0:
		return errors.New("--look spends nothing: leave --wait out")
	case request.Look:
		request.Cost = 0
	case request.Cost < 1:
		return fmt.Errorf("--cost: %d: use 1 or more tokens, or --look to spend none", request.Cost)
	}
	switch {
	case request.Wait < 0:
		return fmt.Errorf("--wait: %v is negative: leave it out to wait for nothing", request.Wait)
	case request.ID != "" && len(args) > 2:
		return errors.New("--request-id: a check of several keys has none: when it is repeated, it is charged again")
	}
	return nil
}

// swapped adds to an error about the name of a limit that it looks like a key, and the key does not.
func swapped(err error, name, key string) error {
	field, is := errors.AsType[*limit.FieldError](err)
	if !is || !strings.HasSuffix(field.Field, ".name") || strings.Contains(key, ":") || strings.Contains(name, ",") || !strings.Contains(name, ":") {
		return err
	}
	return fmt.Errorf("%w: the limit comes first, then the key: jeton check %s %s", err, key, name)
}

// takesPairs checks that every limit has its key.
func takesPairs(cmd *cobra.Command, args []string) error {
	missing := "KEY"
	switch {
	case len(args) == 0:
		missing = "LIMIT"
	case len(args)%2 == 0 && len(args) <= 2*limit.MaxAll:
		return nil
	case len(args)%2 == 0:
		return fmt.Errorf("%d keys are too many: at most %d", len(args)/2, limit.MaxAll)
	case len(args) > 1:
		missing = fmt.Sprintf("KEY after %.64q", args[len(args)-1])
	}
	return fmt.Errorf("%s is missing: use %s, as in %s", missing, cmd.UseLine(), cli.ExampleOf(cmd))
}

// requestsOf are the requests of pairs of limits and a key, which are like r otherwise.
func requestsOf(r limit.Request, pairs []string) []limit.Request {
	var rs []limit.Request
	for pair := range slices.Chunk(pairs, 2) {
		one := r
		one.Key, one.Limits = pair[1], nil
		for name := range strings.SplitSeq(pair[0], ",") {
			one.Limits = append(one.Limits, limit.Named(name))
		}
		rs = append(rs, one)
	}
	return rs
}

// checkAll asks for several keys at once.
func checkAll(ctx context.Context, c *client.Client, w io.Writer, rs []limit.Request, asJSON bool) error {
	a, err := c.CheckAll(ctx, rs)
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(w).Encode(a)
	} else {
		err = printAll(w, a, rs)
	}
	if err == nil && !a.Allowed {
		err = cli.ErrNo
	}
	return err
}

// printAll writes a line for each limit of each key.
func printAll(w io.Writer, a limit.AllDecision, rs []limit.Request) error {
	for i, d := range a.Decisions {
		for _, o := range d.Limits {
			if err := printOutcome(w, o, a.Allowed, rs[i].Look, " of "+rs[i].Key); err != nil {
				return err
			}
		}
		for _, ref := range rs[i].Limits[len(d.Limits):] {
			if err := plain.Fprintf(w, "skipped %s of %s: not asked\n", ref.Name, rs[i].Key); err != nil {
				return err
			}
		}
	}
	return printWait(w, a.Wait)
}

// printDecision writes a line for each limit. A look is neither allowed nor denied.
func printDecision(w io.Writer, d limit.Decision, look bool) error {
	for _, o := range d.Limits {
		if err := printOutcome(w, o, d.Allowed, look, ""); err != nil {
			return err
		}
	}
	return printWait(w, d.Wait)
}

// printWait says how long to wait, if at all.
func printWait(w io.Writer, wait time.Duration) error {
	if wait == 0 {
		return nil
	}
	return plain.Fprintf(w, "wait %v, and begin then\n", (wait + time.Millisecond - 1).Truncate(time.Millisecond))
}

// printOutcome writes what one limit says. All says whether every limit of the request allowed it; of is what the name is followed by.
func printOutcome(w io.Writer, o limit.Outcome, all, look bool, of string) error {
	words := o.Words()
	if o.Allowed && !all && of != "" && !look {
		words = "nothing is taken" // what is left was said before it was given back
	}
	word := "allowed"
	switch {
	case look:
		word = "look   "
	case !o.Allowed:
		word = "denied "
	case !all:
		word = "spared "
	}
	if by := o.By(); by != "" {
		words += "; by " + by
	}
	return plain.Fprintf(w, "%s %s%s: %s\n", word, o.Name, of, words)
}
