package joining

import "strings"

// setWaiting notes what this node waits for now, before it is a member of its cluster.
func (j *Joiner) setWaiting(what string) { j.waiting.Store(&what) }

// Waits says what this node waits for before it is a member of its cluster, and which addresses of --join it could not meet; empty
// where there is nothing to tell.
func (j *Joiner) Waits() string {
	var said []string
	if what := j.waiting.Load(); what != nil {
		said = append(said, *what)
	}
	if unmet := j.gossip.Unmet(); unmet != "" {
		said = append(said, "not met: "+unmet)
	}
	return strings.Join(said, "; ")
}
