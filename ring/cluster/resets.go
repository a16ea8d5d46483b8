package cluster

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

const (
	// resetsEvery is how often this node writes resets into the audit log at most.
	resetsEvery = 10 * time.Second
	// maxResetGroups is how many entries it writes then at most. Resets that fit in none of them are counted in one more.
	maxResetGroups = 8
)

// resets are those that this node has made for callers and that are not in the audit log yet. Programs may reset buckets as often
// as they like: what one caller resets of one limit becomes one entry, and raft has one write for all of them in ten seconds. What a
// node has gathered when it stops is not in the log.
type resets struct {
	mu     sync.Mutex
	groups map[resetGroup]*resetTally
	wake   chan struct{} // of one: there are some
}

// A resetGroup is what becomes one entry. The zero value is that of all that fit in no other.
type resetGroup struct{ who, host, limit string }

type resetTally struct {
	by          Origin // of the first
	at          int64  // when the first was
	count       int
	first, last string // keys
}

func newResets() *resets {
	return &resets{groups: map[resetGroup]*resetTally{}, wake: make(chan struct{}, 1)}
}

// add notes a reset at a time.
func (r *resets) add(by Origin, at int64, limit, key string) {
	host, _, err := net.SplitHostPort(by.From)
	if err != nil {
		host = by.From
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	group := resetGroup{by.Who, host, limit}
	if r.groups[group] == nil && len(r.groups) >= maxResetGroups {
		group, by = resetGroup{}, Origin{Who: "several callers"}
	}
	tally := r.groups[group]
	if tally == nil {
		tally = &resetTally{by: by, at: at, first: key}
		r.groups[group] = tally
	}
	tally.count++
	tally.last = key
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take hands out what is gathered.
func (r *resets) take() map[resetGroup]*resetTally {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.groups
	r.groups = map[resetGroup]*resetTally{}
	return taken
}

// Resetted notes that this node has filled a bucket for a caller. It does not wait for the audit log.
func (c *Cluster) Resetted(by Origin, limit, key string) {
	c.resets.add(by, c.config.Now(), limit, key)
}

// writeResets writes the resets into the audit log until ctx ends.
func (c *Cluster) writeResets(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-c.resets.wake:
		}
		var entries []agreed.Entry
		for group, tally := range c.resets.take() {
			entries = append(entries, c.resetEntry(group, tally))
		}
		slices.SortFunc(entries, func(a, b agreed.Entry) int { return cmp.Compare(a.At, b.At) })
		if len(entries) > 0 {
			if err := c.note(ctx, entries...); err != nil && ctx.Err() == nil && c.throttle.Allow("resets") {
				c.logger.Warn("cannot write into the audit log which buckets were reset", "entries", len(entries), "error", err)
			}
		}
		if _, err := message.Pause(ctx, resetsEvery, nil); err != nil {
			return
		}
	}
}

// resetEntry is what the audit log says of the resets of a group.
func (c *Cluster) resetEntry(group resetGroup, tally *resetTally) agreed.Entry {
	object, detail := group.limit+" "+tally.first, ""
	if tally.count > 1 {
		object = fmt.Sprintf("%d buckets of %s", tally.count, group.limit)
		detail = fmt.Sprintf("the first %s, the last %s", tally.first, tally.last)
	}
	if group == (resetGroup{}) {
		object = fmt.Sprintf("%d buckets", tally.count)
	}
	e := c.entryBy(tally.by, agreed.VerbReset, object, detail)
	e.At = tally.at
	return *e
}
