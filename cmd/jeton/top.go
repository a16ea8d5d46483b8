package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/jeton/top"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A topConfig is how jeton top was called.
type topConfig struct {
	remote  remote
	by      *cli.Choice
	order   *order
	output  *cli.Choice
	reverse bool
	once    bool
	every   time.Duration
	rows    int
}

// An order is the option for what rows are ordered by.
type order struct{ cli.Choice }

// Set takes the British spelling too.
func (o *order) Set(value string) error {
	if value == "utilisation" { //nolint:misspell // it is
		value = top.Utilization
	}
	return o.Choice.Set(value)
}

func topVerb() *cobra.Command {
	tables, orders := top.Tables(), top.Orders()
	cfg := topConfig{
		by: cli.NewChoice(tables[0], tables[1:]...), order: &order{*cli.NewChoice(orders[0], orders[1:]...)}, output: cli.NewChoice("text", "json"),
	}
	cmd := &cobra.Command{
		Use:        "top",
		SuggestFor: []string{"watch", "monitor", "stats", "activity", "ps"},
		Short:      "Watch what the cluster does: rates, what is wrong, limits, keys, nodes and gateways",
		Long: "Watch what the cluster does, from second to second: how many checks are allowed and denied, how long they take, what is\n" +
			"wrong and what to do, and tables of limits, the busiest keys, nodes and gateways. Enter opens a limit with its keys, and a\n" +
			"key with its bucket; ? shows all keys.\n\n" +
			"Where the output is no terminal, or TERM is dumb, it prints a table each time, until it is interrupted; problems go to\n" +
			"the error output. --once prints one table and ends. --output json prints all that is known, as one line each time.",
		Example: "  jeton top\n  jeton top --by keys --sort denials\n  jeton top --once --by nodes\n  jeton top --once --output json | jq .total",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cfg.check(cmd); err != nil {
				return err
			}
			c, err := cfg.remote.connect()
			if err != nil {
				return err
			}
			defer c.Close() //nolint:errcheck // the answers have been read
			return cfg.run(cmd, c)
		},
	}
	cfg.remote.addFlagsWith(cmd, 2*time.Second) // then another node is asked
	cmd.Flags().Var(cfg.by, "by", "the table")
	cmd.Flags().Var(cfg.order, "sort", "what its rows are ordered by, the highest first; utilization is how full the fullest bucket is, or of nodes their memory")
	cmd.Flags().BoolVar(&cfg.reverse, "reverse", false, "the lowest first")
	cmd.Flags().IntVar(&cfg.rows, "top", 20, "how many rows a table has at most, 0 for all; a screen has as many as fit")
	cmd.Flags().BoolVar(&cfg.once, "once", false, "print one table, of one interval, and end")
	cmd.Flags().DurationVar(&cfg.every, "every", time.Second, "how often to ask, 200ms or more")
	cmd.Flags().Var(cfg.output, "output", "form of the output")
	return cmd
}

// check says what is wrong with the options.
func (t *topConfig) check(cmd *cobra.Command) error {
	if t.rows < 0 {
		return fmt.Errorf("--top: %d: give a number of rows, or 0 for all", t.rows)
	}
	for _, name := range []string{"by", "sort", "reverse", "top"} {
		if t.output.Value == "json" && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s: --output json has all tables with all their rows: leave one of them out", name)
		}
	}
	return checkEvery(t.every)
}

// run shows what the cluster does. That no node can be asked is an error, before anything is shown.
func (t *topConfig) run(cmd *cobra.Command, c *client.Client) error {
	ctx, l := cmd.Context(), &looks{remote: &t.remote, client: c}
	first, err := l.next(ctx)
	if err != nil {
		return err
	}
	shown := top.Options{By: t.by.Value, Sort: t.order.Value, Reverse: t.reverse, Top: t.rows}
	if tty := screenOf(cmd); tty != nil && !t.once && t.output.Value == "text" {
		shown.Top = 0
		screen := top.New(top.Config{Options: shown, Every: t.every})
		screen.Show(first, time.Now())
		return watch(ctx, tty, &live{
			screen: screen, every: t.every, now: time.Now, next: l.next, search: l.search, inspect: inspector(&t.remote, c, ""),
		})
	}
	if t.once {
		return t.printOnce(cmd, l, shown)
	}
	return each(ctx, t.every, cmd.ErrOrStderr(), l.next, func(v *activity.View) error {
		if v == nil {
			return nil
		}
		return t.print(cmd, v, shown)
	})
}

// printOnce prints what the cluster does within one interval.
func (t *topConfig) printOnce(cmd *cobra.Command, l *looks, shown top.Options) error {
	for {
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(t.every):
		}
		v, err := l.next(cmd.Context())
		switch {
		case err != nil:
			return err
		case v != nil:
			return t.print(cmd, v, shown)
		}
	}
}

// print writes what the cluster did.
func (t *topConfig) print(cmd *cobra.Command, v *activity.View, shown top.Options) error {
	out := cmd.OutOrStdout()
	if t.output.Value == "json" {
		return json.NewEncoder(out).Encode(v)
	}
	if !t.once {
		if _, err := fmt.Fprintf(out, "%s  %s\n", v.At.UTC().Format(time.RFC3339), top.Summary(v)); err != nil {
			return err
		}
	}
	for i := range v.Problems {
		fmt.Fprintln(cmd.ErrOrStderr(), top.Problem(&v.Problems[i]))
	}
	if shown.By == top.Keys && len(v.Keys) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), top.NoBusyKey+"; jeton bucket LIMIT KEY shows any")
	}
	if err := top.Write(out, v, shown); err != nil || t.once {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}
