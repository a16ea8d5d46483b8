package gossip

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Seek looks for nodes until ctx ends: at the addresses that targets tells, but for those of nodes that are alive. It
// tries often while this node is alone, and rarely later: that heals a partition after which each side has
// forgotten the other.
func (g *Gossip) Seek(ctx context.Context, targets func() []string) {
	const first, next = 250 * time.Millisecond, time.Second
	most := g.config.Rarely
	for wait := first; ; {
		wake := g.Changed()
		missing, company := g.missing(targets())
		g.join(missing)
		g.triedOnce.Do(func() { close(g.tried) })
		switch {
		case !company:
			wait = min(2*wait, next)
		case len(missing) == 0:
			wait = most
		default:
			wait = min(2*wait, most)
		}
		retry := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			retry.Stop()
			return
		case <-retry.C:
		case <-wake:
			if _, company := g.missing(nil); company { // not at once again: what is changing may be changing for a while
				wait = first
			}
			select {
			case <-ctx.Done():
				retry.Stop()
				return
			case <-retry.C:
			}
		}
	}
}

// missing are the addresses where no node is known to be alive; company says that one is anywhere.
func (g *Gossip) missing(addresses []string) (missing []string, company bool) {
	known := map[string]bool{g.wire.Address(): true}
	for _, p := range g.All() {
		if p.Alive {
			known[p.Address], company = true, true
		}
	}
	for _, a := range addresses {
		if !known[a] {
			missing, known[a] = append(missing, a), true
		}
	}
	return missing, company
}

// MeetAll introduces this node to all that are alive, and returns when it has.
func (g *Gossip) MeetAll() {
	var addresses []string
	for _, p := range g.All() {
		if p.Alive {
			addresses = append(addresses, p.Address)
		}
	}
	g.join(addresses)
}

// join introduces this node at all addresses at once.
func (g *Gossip) join(addresses []string) {
	var all sync.WaitGroup
	for _, a := range addresses {
		all.Go(func() {
			_, err := g.list.Load().Join([]string{a})
			if err != nil {
				g.noteUnmet(a, err)
				return
			}
			g.unmets.over(a)
		})
	}
	all.Wait()
}

// Settle waits until every node that knows this one, and runs, has had the time to introduce itself, and says whether that was yet to come.
func (g *Gossip) Settle(ctx context.Context) (waited bool, err error) {
	left := g.config.Rarely + 3*dialTime - time.Since(g.started) // an attempt dials, and exchanges what both know; so may the one before it
	if left <= 0 {
		return false, nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true, nil
	case <-ctx.Done():
		return false, fmt.Errorf("waiting for nodes to make themselves known: %w", ctx.Err())
	}
}

// Tried is closed once every address that was known at the start has been tried.
func (g *Gossip) Tried() <-chan struct{} { return g.tried }
