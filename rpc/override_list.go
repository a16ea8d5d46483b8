package rpc

import (
	"cmp"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
)

// liveOf are the overrides in force that operators have set, by limit and key.
func liveOf(c *cluster.Cluster) []limit.Override {
	set := c.Overrides("")
	live := make([]limit.Override, len(set))
	for i, o := range set {
		live[i] = limit.Override{Limit: o.Limit, Key: o.Key, Says: o.Says}
	}
	return live
}

// overridesOf are the overrides in force, of one limit or, without a name, of all, by limit and key: those that operators have set, and
// those of the document for other keys.
func overridesOf(c *cluster.Cluster, doc *limit.Document, name string) []cluster.OverrideStatus {
	all := c.Overrides(name)
	set := map[agreed.OverrideKey]bool{}
	for i := range all {
		o := &all[i]
		set[agreed.OverrideKey{Limit: o.Limit, Key: o.Key}] = true
		o.NoEffect = doc.NoEffect(limit.Override{Limit: o.Limit, Key: o.Key, Says: o.Says})
	}
	for _, rule := range doc.Rules() {
		if name != "" && name != rule.Name {
			continue
		}
		for _, o := range doc.Written(rule.Name) {
			if !set[agreed.OverrideKey{Limit: o.Limit, Key: o.Key}] {
				all = append(all, cluster.OverrideStatus{Limit: o.Limit, Key: o.Key, Says: o.Says, Document: true})
			}
		}
	}
	slices.SortFunc(all, func(a, b cluster.OverrideStatus) int {
		return cmp.Or(cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Key, b.Key))
	})
	return all
}
