package node

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/ring/cluster/status"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/storage"
)

// newSource makes what tells operators what the nodes are doing.
func (n *Node) newSource() *activity.Source {
	n.disk.fs, n.disk.dir, n.disk.run = n.cfg.FS, n.cfg.Data, n.besides.run
	panics := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "jeton_activity_panics_total",
		Help: "Looks at what nodes do, and searches of keys, that ran into a bug of the node.",
	})
	n.metrics.MustRegister(panics)
	cfg := activity.SourceConfig{Name: n.cfg.Name, Version: activity.Version(), Here: n.doing, Search: n.searchKeys, Panics: panics}
	if m := n.member; m != nil {
		cfg.Others = func(ctx context.Context, question json.RawMessage) (all []activity.Told) {
			for _, told := range m.cluster.AskOthers(ctx, question) {
				all = append(all, activity.Told(told))
			}
			return all
		}
		cfg.Status = func(ctx context.Context) *status.Status {
			s := m.cluster.Status(ctx)
			return &s
		}
	}
	return activity.NewSource(cfg)
}

// doing is what this node is doing.
func (n *Node) doing(ctx context.Context) (activity.Node, error) {
	a, err := n.system.Activity(ctx)
	if err != nil {
		return activity.Node{}, err
	}
	told := activity.Node{
		Limits: map[string]activity.Counts{}, Latency: activity.Histogram(a.Latency), Shed: a.Shed,
		Awake: a.Awake, Dormant: a.Dormant, Waiting: a.Waiting, MemoryHeld: a.Held, MemoryBudget: a.Budget, Keys: keysOf(a.Keys),
	}
	told.Fsync.Bounds, told.Fsync.Counts = n.store.CommitSeconds()
	told.DiskUsed, told.DiskFree = n.disk.read(ctx)
	told.Durability = cmp.Or(string(n.cfg.Durability), string(storage.Fsync))
	for name, said := range a.Limits {
		told.Limits[name] = activity.Counts{Allowed: said.Allowed, Denied: said.Denied, Spared: said.Spared}
	}
	n.addUndecided(&told)
	degraded, err := n.readiness()
	if told.Ready = degraded; err != nil {
		told.Ready = err.Error()
	}
	return told, nil
}

// addUndecided adds the checks that got no decision.
func (n *Node) addUndecided(told *activity.Node) {
	told.Errors = map[string]float64{}
	for name, codes := range n.decides.Undecided() {
		c := told.Limits[name]
		for code, count := range codes {
			c.Errors += count
			told.Errors[code] += count
		}
		told.Limits[name] = c
	}
}

// searchKeys finds keys of this node.
func (n *Node) searchKeys(ctx context.Context, q activity.KeysAsked) (activity.KeysFound, error) {
	found, complete, err := n.system.Search(ctx, actor.Search{Prefix: q.Prefix, Limit: q.Limit, Most: q.Most})
	if err != nil {
		return activity.KeysFound{}, err
	}
	return activity.KeysFound{Keys: keysOf(found), Complete: complete}, nil
}

// keysOf are keys as they are told.
func keysOf(keys []actor.KeyState) []activity.Key {
	all := make([]activity.Key, 0, len(keys))
	for i := range keys {
		k := &keys[i]
		told := activity.Key{
			Key: strings.ToValidUTF8(k.Key, "\uFFFD"), Escaped: url.PathEscape(k.Key), Limits: append([]string{}, k.Limits...),
			PerSecond: k.PerSecond, Share: k.Share, Denied: k.Denied, Hot: k.Hot,
		}
		for _, b := range k.Buckets {
			told.Buckets = append(told.Buckets, activity.Bucket{Limit: b.Limit, Capacity: b.Capacity, Remaining: b.Remaining, Used: b.Used()})
		}
		all = append(all, told)
	}
	return all
}
