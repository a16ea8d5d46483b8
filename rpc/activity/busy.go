package activity

import (
	"cmp"
	"slices"
)

// mostKeys is how many keys a View has of each kind.
const mostKeys = 20

// mergeKeys are the busiest keys of all nodes, and those with most denials. A key that several nodes decide is one.
func mergeKeys(nodes []Node) (busiest, denied []Key) {
	found, all := map[string]int{}, []Key{} // by the escaped key: others may look alike
	for i := range nodes {
		for _, k := range nodes[i].Keys {
			k.Node, k.Limits, k.Buckets = nodes[i].Name, slices.Clone(k.Limits), slices.Clone(k.Buckets)
			at, known := found[k.Escaped]
			if !known {
				found[k.Escaped] = len(all)
				all = append(all, k)
				continue
			}
			all[at] = all[at].plus(k)
		}
	}
	busiest, denied = []Key{}, []Key{}
	slices.SortFunc(all, func(a, b Key) int {
		return cmp.Or(cmp.Compare(b.PerSecond, a.PerSecond), cmp.Compare(a.Escaped, b.Escaped))
	})
	busiest = append(busiest, all[:min(len(all), mostKeys)]...)
	slices.SortStableFunc(all, func(a, b Key) int { return cmp.Compare(b.PerSecond*b.Denied, a.PerSecond*a.Denied) })
	for _, k := range all {
		if k.PerSecond*k.Denied > 0 && len(denied) < mostKeys {
			denied = append(denied, k)
		}
	}
	return busiest, denied
}

// plus is k with what another node tells of the same key. It is the node's that has more of its checks.
func (k Key) plus(other Key) Key {
	if other.PerSecond > k.PerSecond {
		k, other = other, k
	}
	if sum := k.PerSecond + other.PerSecond; sum > 0 {
		k.Denied = (k.PerSecond*k.Denied + other.PerSecond*other.Denied) / sum
		k.PerSecond = sum
	}
	k.Share, k.Hot = max(k.Share, other.Share), k.Hot || other.Hot
	for _, name := range other.Limits {
		if !slices.Contains(k.Limits, name) {
			k.Limits = append(k.Limits, name)
		}
	}
	for _, b := range other.Buckets {
		at := slices.IndexFunc(k.Buckets, func(own Bucket) bool { return own.Limit == b.Limit })
		switch {
		case at < 0:
			k.Buckets = append(k.Buckets, b)
		case b.Used > k.Buckets[at].Used:
			k.Buckets[at] = b
		}
	}
	return k
}
