package main

import (
	"bufio"
	"cmp"
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
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/client"
)

// recoverWithin is how long a recovery may take, with its rounds through what is left of the cluster.
const recoverWithin = time.Minute

func clusterRecoverVerb() *cobra.Command {
	var (
		r    remote
		lost []string
		yes  bool
	)
	cmd := &cobra.Command{
		Use:   "recover --lost NODE[,NODE…]",
		Short: "Go on with what is left after more nodes were lost than the cluster can bear",
		Long: "Go on with what is left after the disks of a majority were lost. By running it you assert that the lost nodes will\n" +
			"never run again: should one come back, limits could be exceeded. Every other node must be up.\n\n" +
			"If most of the voting nodes are lost, they may have agreed on changes that no remaining node has received. Then all partitions begin\n" +
			"again with a floor: every bucket counts as emptied now and fills from there, so the limits hold. Of a limit with plans\n" +
			"or overrides, a bucket is closed for as long as the slowest of them takes to fill. The command prints the limits whose keys\n" +
			"may be denied for longer than a minute, and for how long.\n\n" +
			"Ask the node that knows most; another one says which that is. A recovery that was interrupted must be asked for again:\n" +
			"until then what is left decides nothing.\n\n" +
			"If most of the voting nodes are left, only partitions of which no majority is left begin again with a floor, and the\n" +
			"others are completed from what their replicas know.\n\n" +
			"Nodes that are merely down need none of this: start them.",
		Example: "  jeton cluster recover --lost node-2,node-3 --server node-1:7700",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lost = theNames(lost); len(lost) == 0 {
				return errors.New("--lost: name the nodes that are permanently lost")
			}
			if !yes {
				if err := r.with(cmd, func(ctx context.Context, c *client.Client) error { return sayUnknown(ctx, c, lost, cmd.ErrOrStderr()) }); err != nil {
					return err
				}
				if err := confirm(cmd, lost); err != nil {
					return err
				}
			}
			r.timeout = max(r.timeout, recoverWithin)
			return r.with(cmd, func(ctx context.Context, c *client.Client) error {
				done, err := c.Recover(ctx, lost)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%d partitions begin again with a floor: their buckets count as emptied now; %d that have lost replicas are completed from the others\n",
					done.Floored, done.Moved)
				if err != nil || done.Floored == 0 {
					return err
				}
				return plain.Fprintf(cmd.ErrOrStderr(), "%s\n", saidFloor(limitsInForce(ctx, c)))
			})
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringSliceVar(&lost, "lost", nil, "names or ids of the nodes that are permanently lost")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// sayUnknown says which of the names no node has, or had, as far as the node that is asked knows, before the operator asserts anything of them. It
// does not refuse them: a recovery also takes nodes that the lost ones may have let in, which only gossip knows.
func sayUnknown(ctx context.Context, c *client.Client, lost []string, w io.Writer) error {
	text, err := c.Status(ctx)
	if err != nil {
		return err
	}
	var s cluster.Status
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("the node speaks another version of jeton: %w", err)
	}
	known := map[string]bool{}
	for i := range s.Nodes {
		known[s.Nodes[i].Name], known[s.Nodes[i].ID.String()] = true, true
	}
	for id, name := range s.Removed {
		known[name], known[id.String()] = true, true
	}
	for _, name := range lost {
		if !known[name] {
			if err := plain.Fprintf(w, "%s knows no node %q: jeton cluster status shows those that there are\n", s.Node, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirm asks whether what a recovery asserts is true.
func confirm(cmd *cobra.Command, lost []string) error {
	names := strings.Join(lost, ", ")
	fmt.Fprintf(cmd.ErrOrStderr(), "You assert that these nodes are permanently lost and will never be started again: %s.\n"+
		"Partitions of which too little is known begin again with every bucket emptied: all of them, if most of the voting\n"+
		"nodes are lost. This cannot be undone.\n"+
		"Type their names to go on: ", names)
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	typed := strings.FieldsFunc(line, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' || c == '\r' })
	switch {
	case line == "":
		return errors.New("nothing was done: the question was not answered; --yes skips it")
	case !slices.Equal(theNames(typed), lost):
		return fmt.Errorf("nothing was done: the names were not repeated: type %s", names)
	}
	return nil
}

// theNames are names without what stands around them, each once, in their order.
func theNames(said []string) []string {
	var names []string
	for _, name := range said {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// longFloor is what a floor may cost the keys of a limit without being said.
const longFloor = time.Minute

// mostFloors is how many limits are named that a floor closes for long.
const mostFloors = 10

// tellsWithin is how long the cluster may take to tell its limits once it was recovered.
const tellsWithin = 5 * time.Second

// limitsInForce are the limits of the cluster, with the overrides that were set while it ran.
func limitsInForce(ctx context.Context, c *client.Client) (*limit.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, tellsWithin)
	defer cancel()
	doc, err := c.StoredLimits(ctx)
	if err != nil {
		return nil, err
	}
	text, err := c.Overrides(ctx, "")
	if err != nil {
		return nil, err
	}
	var set []cluster.OverrideStatus
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("the node speaks another version of jeton: %w", err)
	}
	var changes []limit.OverrideChange
	for _, o := range set {
		if !o.Document {
			changes = append(changes, limit.OverrideChange{Limit: o.Limit, Key: o.Key, Set: &limit.Override{Limit: o.Limit, Key: o.Key, Says: o.Says}})
		}
	}
	doc, _ = doc.WithOverrides(changes) // one that has no effect closes nothing
	return doc, nil
}

// saidFloor says which limits may deny keys for long while a floor holds, the longest first, or that this is not known.
func saidFloor(doc *limit.Document, err error) string {
	if err != nil {
		return fmt.Sprintf("which limits deny their keys for long is not known (%v): a bucket is closed for as long as the slowest plan or override of its limit takes to fill", err)
	}
	slow := slices.DeleteFunc(doc.Rules(), func(r *limit.Rule) bool { return r.Lead() <= int64(longFloor) })
	if len(slow) == 0 {
		return "by the limits that are stored now, no key is denied for longer than a minute; those that requests define, and numbers that a limit had until a while ago, are not counted here"
	}
	slices.SortStableFunc(slow, func(a, b *limit.Rule) int { return cmp.Compare(b.Lead(), a.Lead()) })
	var said []string
	for _, r := range slow[:min(len(slow), mostFloors)] {
		said = append(said, r.Name+" "+plain.Duration(time.Duration(r.Lead())))
	}
	if more := len(slow) - mostFloors; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return "until buckets have filled by the slowest plan or override of their limit, keys may be denied, at most for so long: " + strings.Join(said, ", ") +
		"; limits that requests define, and numbers that a limit had until a while ago, are not counted here"
}
