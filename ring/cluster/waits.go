package cluster

import "strings"

// wait notes what this node waits for now, before it is a member of its cluster.
func (c *Cluster) wait(what string) { c.waiting.Store(&what) }

// Waits says what this node waits for before it is a member of its cluster, and which addresses of --join it could not meet; empty
// where there is nothing to tell.
func (c *Cluster) Waits() string {
	select {
	case <-c.joined:
		return ""
	default:
	}
	var said []string
	if what := c.waiting.Load(); what != nil {
		said = append(said, *what)
	}
	if unmet := c.gossip.Unmet(); unmet != "" {
		said = append(said, "not met: "+unmet)
	}
	return strings.Join(said, "; ")
}
