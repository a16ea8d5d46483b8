package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/jeton/top"
	"github.com/jeton-dev/jeton/rpc/client"
)

func bucketVerb() *cobra.Command {
	var (
		r       remote
		hand    operatorsHand
		plan    string
		follows bool
		every   time.Duration
	)
	output := cli.NewChoice("text", "json")
	cmd := &cobra.Command{
		Use:   "bucket LIMIT KEY",
		Short: "Show a bucket on its line: why a key is denied, and until when",
		Long: "Show a bucket on its line: why a key is denied, and until when. Looking changes nothing.\n\n" +
			"--fill fills the bucket first, --block denies every check for a time (jeton limits override shows it), and --unblock ends\n" +
			"that. These take an operator's token or the cluster key, and stand in jeton audit.\n\n" +
			"--watch goes on until it is interrupted: in a terminal as a screen, and elsewhere as a line each time the bucket has changed.",
		Example: "  jeton bucket login user:42\n  jeton bucket api user:42 --plan pro\n  jeton bucket login user:42 --fill\n  jeton bucket login user:42 --block 10m\n" +
			"  jeton bucket login user:42 --watch",
		RunE: func(cmd *cobra.Command, args []string) error {
			hand.given = cmd.Flags().Changed("block")
			if err := hand.check(args[1]); err != nil {
				return err
			}
			switch {
			case follows:
				if err := checkEvery(every); err != nil {
					return err
				}
			case cmd.Flags().Changed("every"):
				return errors.New("--every: give --watch too, which asks again and again")
			}
			c, err := r.connect()
			if err != nil {
				return err
			}
			defer c.Close() //nolint:errcheck // the answer has been read
			b := top.Bucket{Limit: args[0], Key: args[1]}
			if err := r.ask(cmd.Context(), func(ctx context.Context) error { return meantLimit(ctx, c, hand.on(ctx, c, b.Limit, b.Key)) }); err != nil {
				return err
			}
			w := bucketWatch{bucket: b, every: every, json: output.Value == "json", inspect: inspector(&r, c, plan)}
			if follows {
				return w.run(cmd)
			}
			return w.once(cmd)
		},
	}
	r.addFlags(cmd)
	cmd.Flags().Var(output, "output", "form of the output")
	cmd.Flags().StringVar(&plan, "plan", "", "show the bucket by the numbers of this plan, not by those that the last check went by")
	cmd.Flags().BoolVar(&follows, "watch", false, "follow the bucket until interrupted")
	cmd.Flags().DurationVar(&every, "every", time.Second, "how often --watch looks, 200ms or more")
	cmd.Flags().BoolVar(&hand.fill, "fill", false, "fill the bucket first")
	cmd.Flags().DurationVar(&hand.block, "block", 0, "deny every check of the key by this limit for so long, such as 10m")
	cmd.Flags().BoolVar(&hand.unblock, "unblock", false, "end a block")
	return cmd
}

// blocked is what an override says that blocks a key.
const blocked = "deny"

// operatorsHand is what an operator does to a bucket before looking at it.
type operatorsHand struct {
	fill, unblock bool
	block         time.Duration
	given         bool // the time of the block
}

// check says what is wrong with the options.
func (h *operatorsHand) check(key string) error {
	switch {
	case h.given && h.block <= 0:
		return fmt.Errorf("--block: %v: give a time such as 10m", h.block)
	case h.block > 0 && h.unblock:
		return errors.New("--block and --unblock: leave one of them out")
	case (h.block > 0 || h.unblock) && strings.HasSuffix(key, "*"):
		return fmt.Errorf("%q: a key that ends in * stands for all keys with this beginning: jeton limits override set blocks those", key)
	}
	return nil
}

// on does it.
func (h *operatorsHand) on(ctx context.Context, c *client.Client, name, key string) error {
	if h.fill {
		if err := c.Fill(ctx, name, key); err != nil {
			return err
		}
	}
	switch {
	case h.block > 0:
		return c.SetOverride(ctx, client.Override{Limit: name, Key: key, Says: blocked, For: h.block})
	case h.unblock:
		was, err := c.UnsetOverride(ctx, name, key, blocked)
		if err == nil && !was {
			return fmt.Errorf("%s of %s is not blocked", name, key)
		}
		return err
	}
	return nil
}
