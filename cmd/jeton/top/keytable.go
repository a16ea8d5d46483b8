package top

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jeton-dev/jeton/rpc/activity"
)

// busyKeys are the keys that a view knows, each once: those that are checked most, and those that are denied most.
func busyKeys(v *activity.View) []activity.Key { return joined(v.Keys, v.Denied) }

// joined are keys, and those of others that are not among them.
func joined(keys, others []activity.Key) []activity.Key {
	type place struct{ key, node string }
	known := map[place]bool{}
	out := make([]activity.Key, 0, len(keys)+len(others))
	for _, k := range slices.Concat(keys, others) {
		if at := (place{k.Escaped, k.Node}); !known[at] {
			known[at] = true
			out = append(out, k)
		}
	}
	return out
}

// tableOfKeys has keys with the buckets that they have, or, with the name of a limit, with those of that limit alone.
func tableOfKeys(keys []activity.Key, limit string) table {
	t := table{columns: []column{
		{title: "checks/s", right: true},
		{title: "denied/s", right: true, drop: 2},
		{title: "denied", right: true, least: 6},
		{title: "share", right: true, least: 5, drop: 4},
		{title: "used", right: true, least: 6},
		{title: "left", right: true, least: 7, drop: 3},
		{title: "node", most: 16, drop: 5},
		{title: "limits", most: 24, drop: 1},
		{title: "key", least: leastName, keep: 20},
	}}
	for i := range keys {
		k := &keys[i]
		switch {
		case limit == "":
			t.rows = append(t.rows, rowOfKey(k, k.Limits, fullest(k)))
		case slices.Contains(k.Limits, limit):
			r := rowOfKey(k, []string{limit}, bucketOf(k, limit))
			says := r.says
			r.says = func() []string { return slices.Delete(says(), limitsColumn, limitsColumn+1) }
			t.rows = append(t.rows, r)
		}
	}
	if limit != "" {
		t.columns = slices.Delete(t.columns, limitsColumn, limitsColumn+1)
	}
	return t
}

// limitsColumn is the column of a table of keys that one of the keys of a limit does without.
const limitsColumn = 7

// rowOfKey shows a key with one of its buckets, or, where that is not known, without.
func rowOfKey(k *activity.Key, limits []string, b *activity.Bucket) row {
	r := row{name: rawKey(k), node: k.Node, limits: limits, traffic: k.PerSecond, denials: k.PerSecond * k.Denied, used: -1, look: alarm(k.Hot, false)}
	left := none
	if b != nil {
		r.used, left = b.Used, strconv.FormatInt(b.Remaining, 10)
	}
	r.says = func() []string {
		names := make([]string, len(limits))
		for i, name := range limits {
			names[i] = shown(name)
		}
		return []string{
			rate(r.traffic), rate(r.denials), share(k.Denied), share(k.Share), share(r.used), left, shown(orNone(k.Node)),
			orNone(strings.Join(names, ",")), shown(k.Key),
		}
	}
	return r
}

// fullest is the fullest bucket of a key; nil where none is known.
func fullest(k *activity.Key) (b *activity.Bucket) {
	for i := range k.Buckets {
		if b == nil || k.Buckets[i].Used > b.Used {
			b = &k.Buckets[i]
		}
	}
	return b
}

// bucketOf is a key's bucket of a limit; nil where none is known.
func bucketOf(k *activity.Key, limit string) *activity.Bucket {
	if at := slices.IndexFunc(k.Buckets, func(b activity.Bucket) bool { return b.Limit == limit }); at >= 0 {
		return &k.Buckets[at]
	}
	return nil
}
