package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// usedTime is the timeout for asking the nodes which limits they have used.
const usedTime = time.Second

// LimitsUsed says how long ago limits decided checks anywhere in the cluster, of those that did so lately, and which members
// did not answer, by their names: what they used is not known.
func (c *Cluster) LimitsUsed(ctx context.Context) (used map[string]time.Duration, silent []string) {
	var (
		mu     sync.Mutex
		others []agreed.Node
	)
	used = map[string]time.Duration{}
	note := func(here map[string]time.Duration) {
		for name, ago := range here {
			if before, ok := used[name]; !ok || ago < before {
				used[name] = ago
			}
		}
	}
	note(c.used())
	for id, n := range c.State().Nodes {
		if id != c.config.ID {
			others = append(others, n)
		}
	}
	message.ForEach(others, func(n agreed.Node) {
		there, err := message.CallWithin[map[string]time.Duration](ctx, c.config.Peers, usedTime, c.directory.AddressOfNode(n), message.KindUsed, message.Nothing{})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			silent = append(silent, n.Name)
		}
		note(there)
	})
	slices.Sort(silent)
	return used, silent
}

func (c *Cluster) answerUsed(context.Context, message.Nothing) (map[string]time.Duration, error) {
	return c.used(), nil
}

// used are the limits that this node has used.
func (c *Cluster) used() map[string]time.Duration {
	if c.config.Used == nil {
		return nil
	}
	return c.config.Used()
}
