package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/client"
)

func limitsOverrideVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:        "override",
		SuggestFor: []string{"overrides", "block", "exempt"},
		Short:      "Give a key, or all keys with a prefix, other numbers than a limit says",
		Example:    "  jeton limits override set login 'org:acme:*' --capacity 100\n  jeton limits override list",
		RunE:       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(overrideSetVerb(), overrideListVerb(), overrideUnsetVerb())
	return cmd
}

// overrideNumbers are what an override sets of a limit.
type overrideNumbers struct {
	capacity, limit int64
	refill          string
	deny, allow     bool
}

// says is what the override says, in the words of the API.
func (n *overrideNumbers) says(changed func(string) bool) (string, error) {
	var said []string
	if changed("capacity") {
		said = append(said, "capacity: "+strconv.FormatInt(n.capacity, 10))
	}
	if changed("limit") {
		said = append(said, "limit: "+strconv.FormatInt(n.limit, 10))
	}
	if changed("refill") {
		said = append(said, "refill: "+n.refill)
	}
	for _, verdict := range []struct {
		is   bool
		says string
	}{{n.deny, "deny"}, {n.allow, "allow"}} {
		if verdict.is && len(said) > 0 {
			return "", fmt.Errorf("--%s: every check gets this answer, whatever the numbers: leave the other options out", verdict.says)
		}
		if verdict.is {
			said = append(said, verdict.says)
		}
	}
	if len(said) == 0 {
		return "", errors.New("say what is other for the key: --capacity, --refill, --limit, --deny or --allow")
	}
	return strings.Join(said, ", "), nil
}

func overrideSetVerb() *cobra.Command {
	var (
		r       remote
		numbers overrideNumbers
		within  time.Duration
	)
	cmd := &cobra.Command{
		Use:        "set LIMIT KEY",
		SuggestFor: []string{"add", "put", "apply"},
		Short:      "Set an override",
		Long: "Set an override of a limit for a key, or for all keys with a prefix: org:acme:*. An override of the key itself counts\n" +
			"before those of prefixes, and of these the longest. Numbers that are not given are the limit's. It takes the place of the\n" +
			"override of the same limit and key, is in force on every node within a second, and stands in jeton audit.\n\n" +
			"What a bucket has spent stays spent, as when the limit itself is changed. --deny denies every check and takes nothing;\n" +
			"--allow passes every check, and it is not counted.",
		Example: "  jeton limits override set login user:42 --capacity 100 --refill 10/s\n" +
			"  jeton limits override set login 'org:acme:*' --capacity 100 --for 2h\n" +
			"  jeton limits override set page user:42 --limit 1000\n" +
			"  jeton limits override set login user:7 --deny --for 10m",
		RunE: func(cmd *cobra.Command, args []string) error {
			says, err := numbers.says(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			if within < 0 || cmd.Flags().Changed("for") && within == 0 {
				return fmt.Errorf("--for: %v: give a time such as 2h, or leave it out for an override without an end", within)
			}
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				if err := c.SetOverride(ctx, client.Override{Limit: args[0], Key: args[1], Says: says, For: within}); err != nil {
					return err
				}
				end := "until it is unset"
				if within > 0 {
					end = "for " + plain.Duration(within)
				}
				return plain.Fprintf(cmd.ErrOrStderr(), "%s of %s: %s, %s\n", args[0], args[1], says, end)
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Int64Var(&numbers.capacity, "capacity", 0, "capacity of a token bucket")
	cmd.Flags().StringVar(&numbers.refill, "refill", "", "refill of a token bucket, such as 10/s")
	cmd.Flags().Int64Var(&numbers.limit, "limit", 0, "limit of each window")
	cmd.Flags().BoolVar(&numbers.deny, "deny", false, "deny every check")
	cmd.Flags().BoolVar(&numbers.allow, "allow", false, "pass every check, uncounted")
	cmd.Flags().DurationVar(&within, "for", 0, "how long, such as 2h; without it the override has no end")
	return cmd
}

func overrideListVerb() *cobra.Command {
	var r remote
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:        "list [LIMIT]",
		SuggestFor: []string{"get", "show", "ls"},
		Short:      "Show the overrides in force",
		Example:    "  jeton limits override list\n  jeton limits override list login --output json",
		Args:       cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				text, err := c.Overrides(ctx, strings.Join(args, ""))
				if err != nil {
					return err
				}
				if output.Value == "json" {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), string(text))
					return err
				}
				var all []cluster.OverrideStatus
				if err := json.Unmarshal(text, &all); err != nil {
					return fmt.Errorf("the node speaks another version of jeton: %w", err)
				}
				return printOverrides(cmd.OutOrStdout(), all, args)
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Var(output, "output", "form of the output")
	return cmd
}

// printOverrides writes overrides as a table, those of all limits or of one.
func printOverrides(w io.Writer, all []cluster.OverrideStatus, of []string) error {
	switch {
	case len(all) > 0:
	case len(of) > 0:
		return plain.Fprintf(w, "no overrides of %s are in force: without a name, those of all limits are shown\n", of[0])
	default:
		_, err := fmt.Fprintln(w, "no overrides are in force")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "limit\tkey\tsays\tuntil\tset\tby")
	for _, o := range all {
		if o.Document {
			_ = plain.Fprintf(table, "%s\t%s\t%s\t-\t-\tthe limits document\n", o.Limit, o.Key, o.Says)
			continue
		}
		by := o.Who
		if o.NoEffect != "" {
			by += " (no effect: " + o.NoEffect + ")"
		}
		_ = plain.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", o.Limit, o.Key, o.Says, secondOf(o.Until), secondOf(o.At), by) // Flush tells of an error
	}
	return table.Flush()
}

func overrideUnsetVerb() *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:        "unset LIMIT KEY",
		SuggestFor: []string{"remove", "delete", "rm"},
		Short:      "Take an override away",
		Example:    "  jeton limits override unset login 'org:acme:*'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				was, err := c.UnsetOverride(ctx, args[0], args[1], "")
				if err == nil && !was {
					return plain.Fprintf(cmd.ErrOrStderr(), "%s of %s has no override: jeton limits override list shows those that there are\n", args[0], args[1])
				}
				return err
			})
		},
	}
	r.addFlags(cmd)
	return cmd
}
