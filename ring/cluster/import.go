package cluster

import (
	"context"
	"fmt"
	"sync"

	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// Name is this node's name.
func (c *Cluster) Name() string { return c.config.Name }

// Now is this node's clock, in nanoseconds since the Unix epoch.
func (c *Cluster) Now() int64 { return c.config.Now() }

// importsAtOnce is how many overrides of an import are agreed on at a time: raft writes them together.
const importsAtOnce = 32

// An Import is what a file brings.
type Import struct {
	// Base is the version of the limits that is replaced, and Limits the document; nil leaves the limits as they are.
	Base   uint64
	Limits []byte
	// Set are overrides with their limit, key, what they say, and their end. Unset are those that are taken away.
	Set   []agreed.Override
	Unset []agreed.OverrideKey
	// File says which file it is, for the audit log, and Change what it changes of the limits.
	File, Change string
}

// CheckImport says why the agreed state would refuse a part of an import; nothing is changed.
func (c *Cluster) CheckImport(i Import) error {
	s, now := c.State(), c.config.Now()
	apply := func(command agreed.Command) error {
		next, err := command.Apply(s)
		if err == nil {
			s = next
		}
		return err
	}
	if i.Limits != nil {
		if err := c.CheckLimits(i.Limits); err != nil {
			return err
		}
		if err := apply(agreed.Command{SetLimits: &agreed.SetLimits{Base: i.Base, Limits: i.Limits, At: now}}); err != nil {
			return err
		}
	}
	for _, k := range i.Unset {
		if err := apply(agreed.Command{UnsetOverride: &agreed.UnsetOverride{Limit: k.Limit, Key: k.Key, At: now}}); err != nil {
			return err
		}
	}
	for _, o := range i.Set {
		o.At = now
		if err := apply(agreed.Command{SetOverride: &agreed.SetOverride{Override: o}}); err != nil {
			return fmt.Errorf("the override of %s for %q: %w", o.Limit, o.Key, err)
		}
	}
	return nil
}

// Import puts in force what a file brings, in this order: an entry in the audit log, the limits, all or none, and the overrides, each by
// itself, those that are taken away first. What is interrupted leaves what was put in force so far; the same import again completes it. done is how many overrides
// were set and taken away. It waits for a leader as SetLimits does.
func (c *Cluster) Import(ctx context.Context, i Import) (done int, err error) {
	what := fmt.Sprintf("limits, %d %s set, %d unset", len(i.Set), plain.Plural(len(i.Set), "override", "overrides"), len(i.Unset))
	if err := c.Note(ctx, agreed.VerbImport, what, i.File); err != nil {
		return 0, err
	}
	if i.Limits != nil {
		by := originOf(ctx)
		by.Detail = "import: " + i.Change
		if _, err := c.SetLimits(WithOrigin(ctx, by), i.Base, i.Limits); err != nil {
			return 0, err
		}
	}
	var requests []overrideRequest
	for _, k := range i.Unset {
		requests = append(requests, overrideRequest{Unset: &agreed.UnsetOverride{Limit: k.Limit, Key: k.Key, At: c.config.Now()}})
	}
	for _, o := range i.Set {
		o.At, o.Who = c.config.Now(), c.entry(ctx, "", "", "").Who
		if c.config.Reach != nil {
			o.Reach = c.config.Reach(c.State(), o)
		}
		requests = append(requests, overrideRequest{Set: &agreed.SetOverride{Override: o}})
	}
	return c.askOverrides(ctx, requests)
}

// askOverrides asks for many changes, some at a time, in their order as far as they are begun, until one fails.
func (c *Cluster) askOverrides(ctx context.Context, requests []overrideRequest) (done int, err error) {
	var (
		mu    sync.Mutex
		next  int
		tasks sync.WaitGroup
	)
	take := func() (q overrideRequest, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(requests) || err != nil {
			return q, false
		}
		next++
		return requests[next-1], true
	}
	for range min(importsAtOnce, len(requests)) {
		tasks.Go(func() {
			for {
				q, more := take()
				if !more {
					return
				}
				failed := c.askOverride(ctx, q)
				mu.Lock()
				if failed == nil {
					done++
				} else if err == nil {
					err = failed
				}
				mu.Unlock()
			}
		})
	}
	tasks.Wait()
	return done, err
}
