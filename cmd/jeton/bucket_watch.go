package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cmd/jeton/top"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/debug"
)

// A bucketWatch follows a bucket, or looks at it once.
type bucketWatch struct {
	bucket  top.Bucket
	every   time.Duration
	json    bool
	inspect func(context.Context, top.Bucket) (limit.Inspection, error)
}

// inspector looks at buckets, by the numbers of a plan where one is named.
func inspector(r *remote, c *client.Client, plan string) func(context.Context, top.Bucket) (limit.Inspection, error) {
	return func(ctx context.Context, b top.Bucket) (in limit.Inspection, err error) {
		err = r.ask(ctx, func(ctx context.Context) (err error) {
			in, err = c.Inspect(ctx, b.Key, limit.Named(b.Limit), plan)
			return meantLimit(ctx, c, err)
		})
		return in, err
	}
}

// run shows the bucket in a terminal, and elsewhere writes a line each time it has changed.
func (w *bucketWatch) run(cmd *cobra.Command) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	in, err := w.inspect(ctx, w.bucket)
	if err != nil {
		return err
	}
	if tty := screenOf(cmd); tty != nil && !w.json {
		screen := top.New(top.Config{Every: w.every, Limit: w.bucket.Limit, Key: w.bucket.Key})
		screen.ShowBucket(w.bucket, &in, nil, time.Now())
		return watch(ctx, tty, &live{screen: screen, every: w.every, now: time.Now, inspect: w.inspect})
	}
	if err := w.write(out, in, limit.Inspection{}); err != nil {
		return err
	}
	ask := func(ctx context.Context) (limit.Inspection, error) { return w.inspect(ctx, w.bucket) }
	return each(ctx, w.every, cmd.ErrOrStderr(), ask, func(now limit.Inspection) error {
		if !changed(&in, &now) {
			return nil
		}
		before := in
		in = now
		return w.write(out, now, before)
	})
}

// once shows the bucket as it is now.
func (w *bucketWatch) once(cmd *cobra.Command) error {
	in, err := w.inspect(cmd.Context(), w.bucket)
	if err != nil {
		return err
	}
	if w.json {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(in)
	}
	return debug.WriteBucket(cmd.OutOrStdout(), in)
}

// changed says whether a bucket is otherwise than before in what people see, beside the time that has passed.
func changed(before, now *limit.Inspection) bool {
	type seen struct {
		tokens, until, closed, denied, debt, last int64
		verdict                                   limit.Verdict
		override, plan, rule, node                string
	}
	of := func(in *limit.Inspection) seen {
		return seen{
			in.Tokens, in.Until, in.Closed, in.Denied, in.Debt, lastDecision(in), in.Verdict, in.Override, in.Plan, strings.Join(in.Rule.Terms(), ", "), in.Node,
		}
	}
	return of(before) != of(now)
}

// lastDecision is when the last decision was made that is known; 0 if none is.
func lastDecision(in *limit.Inspection) int64 {
	if n := len(in.Recent); n > 0 {
		return in.Recent[n-1].At
	}
	return 0
}

// write writes a bucket as a line. In text it says what was decided since it was written before; the zero value is not before.
func (w *bucketWatch) write(out io.Writer, in, before limit.Inspection) error {
	if w.json {
		return json.NewEncoder(out).Encode(in)
	}
	text := fmt.Sprintf("%d of %d left", in.Tokens, in.Rule.Capacity)
	switch in.Verdict {
	case limit.Denies:
		text = "every check is denied: " + in.Override
	case limit.Passes:
		text = "every check is allowed: " + in.Override
	case limit.Decides:
	}
	if in.Closed > in.Now {
		text += ", closed by a penalty for " + plain.Duration(time.Duration(in.Closed-in.Now))
	}
	if before.Now != 0 {
		text += decidedSince(&in, lastDecision(&before))
	}
	at := time.Unix(0, in.Now).UTC().Format("2006-01-02T15:04:05.000Z")
	return plain.Fprintf(out, "%s  %s of %s: %s\n", at, in.Rule.Name, in.Key, text)
}

// decidedSince says how many of the decisions that the owner remembers were made after a time; it remembers the last ones alone.
func decidedSince(in *limit.Inspection, after int64) string {
	allowed, denied := 0, 0
	for _, d := range in.Recent {
		switch {
		case d.At <= after:
		case d.Allowed:
			allowed++
		default:
			denied++
		}
	}
	if allowed+denied == 0 {
		return ""
	}
	since := "since then"
	if allowed+denied == len(in.Recent) { // there may have been more
		since = "last"
	}
	return fmt.Sprintf("; %s %d allowed, %d denied", since, allowed, denied)
}
