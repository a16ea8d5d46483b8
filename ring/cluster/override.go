package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// SetOverride sets an override of a limit for a key, or for all keys with a prefix that ends in *. says is what it says, which is
// checked by the caller; it ends after within, and never where that is 0. It returns once this node knows it, and waits for a leader as
// SetLimits does: agreed.ErrTooMany where there are as many as may be.
func (c *Cluster) SetOverride(ctx context.Context, limit, key, says string, within time.Duration) error {
	o := agreed.Override{Limit: limit, Key: key, Says: says, At: c.config.Now()}
	detail := says
	if within > 0 {
		o.Until = o.At + int64(within)
		detail = fmt.Sprintf("%s for %v", says, within)
	}
	by := c.entry(ctx, agreed.VerbSetOverride, limit+" "+key, detail)
	if c.config.Reach != nil {
		o.Reach = c.config.Reach(c.State(), o)
	}
	if was, had := c.State().Overrides.Find(agreed.OverrideKey{Limit: limit, Key: key}); had {
		by.Detail += ", was " + was.Says
	}
	o.Who = by.Who
	return c.askOverride(ctx, overrideRequest{Set: &agreed.SetOverride{Override: o}, By: by})
}

// UnsetOverride takes an override away. It succeeds where there is none.
func (c *Cluster) UnsetOverride(ctx context.Context, limit, key string) error {
	return c.askOverride(ctx, overrideRequest{
		Unset: &agreed.UnsetOverride{Limit: limit, Key: key, At: c.config.Now()}, By: c.entry(ctx, agreed.VerbUnsetOverride, limit+" "+key, ""),
	})
}

// An overrideRequest sets an override or takes one away.
type overrideRequest struct {
	Set   *agreed.SetOverride   `json:"set,omitempty"`
	Unset *agreed.UnsetOverride `json:"unset,omitempty"`
	By    *agreed.Entry         `json:"by,omitempty"`
}

func (c *Cluster) askOverride(ctx context.Context, q overrideRequest) error {
	version, err := message.AskLeader[uint64](ctx, c.leader, message.KindSet, q)
	if err != nil {
		return err
	}
	for {
		changed := c.Changed()
		if c.State().Version >= version {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil // it is agreed; this node is late
		}
	}
}

// answerOverride has it agreed, and answers with a version of the state that has it.
func (c *Cluster) answerOverride(ctx context.Context, q overrideRequest) (uint64, error) {
	if err := c.agreement.Propose(ctx, agreed.Command{SetOverride: q.Set, UnsetOverride: q.Unset, By: q.By}); err != nil {
		return 0, err
	}
	return c.agreement.State().Version, nil
}

// An OverrideStatus is an override as operators see it.
type OverrideStatus struct {
	Limit string    `json:"limit"`
	Key   string    `json:"key"` // or, where it ends in *, the beginning of keys
	Says  string    `json:"says"`
	Until time.Time `json:"until,omitzero"` // zero: it has no end
	At    time.Time `json:"at,omitzero"`    // when it was set
	Who   string    `json:"who,omitempty"`  // by whom
	// Document says that it stands in the limits document, and not when and by whom it was set.
	Document bool `json:"document,omitempty"`
	// NoEffect is why the override has no effect under the limits in force; empty where it has one. It is the caller's to fill in.
	NoEffect string `json:"no_effect,omitempty"`
}

// Overrides are those in force, as far as this node has heard, by limit and key; those of one limit, where it is named.
func (c *Cluster) Overrides(limit string) []OverrideStatus {
	found := []OverrideStatus{}
	c.EachOverride(limit, func(o OverrideStatus) { found = append(found, o) })
	slices.SortFunc(found, OverrideStatus.Compare)
	return found
}

// OverridesIn are those in force in a state of this cluster, by limit and key.
func (c *Cluster) OverridesIn(s *agreed.State) []OverrideStatus {
	found := []OverrideStatus{}
	eachOverride(s, c.config.Now(), "", func(o OverrideStatus) { found = append(found, o) })
	slices.SortFunc(found, OverrideStatus.Compare)
	return found
}

// EachOverride is Overrides, one by one in no order.
func (c *Cluster) EachOverride(limit string, f func(OverrideStatus)) {
	eachOverride(c.State(), c.config.Now(), limit, f)
}

// eachOverride calls f with those of a state that have not ended at a time.
func eachOverride(s *agreed.State, now int64, limit string, f func(OverrideStatus)) {
	s.Overrides.EachChange(nil, func(_ agreed.OverrideKey, o *agreed.Override) {
		if (limit == "" || o.Limit == limit) && (o.Until == 0 || o.Until > now) {
			f(OverrideStatus{Limit: o.Limit, Key: o.Key, Says: o.Says, Until: timeOf(o.Until), At: timeOf(o.At), Who: o.Who})
		}
	})
}

// Overridden says whether an override of a limit and key that operators have set is in force, as far as this node has heard.
func (c *Cluster) Overridden(limit, key string) bool {
	o, set := c.State().Overrides.Find(agreed.OverrideKey{Limit: limit, Key: key})
	return set && (o.Until == 0 || o.Until > c.config.Now())
}

// Compare orders overrides by limit and key.
func (o OverrideStatus) Compare(other OverrideStatus) int {
	return cmp.Or(cmp.Compare(o.Limit, other.Limit), cmp.Compare(o.Key, other.Key))
}
