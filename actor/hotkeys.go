package actor

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/bound"
)

// MaxChecked is how many keys [System.Checked] tells of at most.
const MaxChecked = busiestTold

// Checked says how many checks a second this node was asked in the last half second, and which keys had most of them: the busiest first, at most
// MaxChecked, each with 16 checks or more in that time. Checks that an override decides without its bucket are not counted.
func (s *System) Checked() (perSecond float64, keys []CheckedKey) {
	perSecond, keys, _ = s.busy()
	return perSecond, keys
}

// busy is what [System.Checked] says, and which of the keys that are told of by shards have most denials, by these.
func (s *System) busy() (perSecond float64, keys, denied []CheckedKey) {
	for _, sh := range s.shards {
		if t := sh.heat.told.Load(); t != nil {
			perSecond += t.perSecond
			keys = append(keys, t.keys...)
			denied = append(denied, t.denied...)
		}
	}
	most := func(of []CheckedKey, by func(*CheckedKey) float64) []CheckedKey {
		slices.SortFunc(of, func(a, b CheckedKey) int { return cmp.Or(cmp.Compare(by(&b), by(&a)), cmp.Compare(a.Key, b.Key)) })
		of = of[:min(len(of), MaxChecked)]
		for i := range of {
			k := &of[i]
			k.Label = s.labels.of(k.Key)
			k.Share = k.PerSecond / perSecond
			k.Hot = isHot(k.PerSecond, perSecond)
		}
		return of
	}
	keys = most(keys, func(k *CheckedKey) float64 { return k.PerSecond })
	denied = most(denied, func(k *CheckedKey) float64 { return k.PerSecond * k.Denied })
	return perSecond, keys, denied
}

// keyLabels name keys in metrics, which more people may read than may know keys.
type keyLabels struct {
	shown  bool
	secret [32]byte
}

func newKeyLabels(shown bool) (keyLabels, error) {
	l := keyLabels{shown: shown}
	if _, err := rand.Read(l.secret[:]); err != nil {
		return l, fmt.Errorf("draw a secret: %w", err)
	}
	return l, nil
}

// of is the label of a key: the key, or a hash of it and of a secret of this process, so that nobody can find the key by trying.
func (l *keyLabels) of(key string) string {
	if l.shown {
		return bound.Label(key)
	}
	sum := sha256.Sum256(append(l.secret[:], key...))
	return "#" + hex.EncodeToString(sum[:6])
}

// hotKeys shows metrics of the keys that are hot, and only of these: a key that is no longer hot has no series.
type hotKeys struct {
	checked                    func() (float64, []CheckedKey)
	count, rate, share, denied *prometheus.Desc
}

func newHotKeys(checked func() (float64, []CheckedKey)) hotKeys {
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return hotKeys{
		checked: checked,
		count:   of("jeton_hot_keys", "Keys that are hot: each has at least a fifth of the checks of this node, and 100 a second, in the last half second."),
		rate:    of("jeton_hot_key_checks_per_second", "Checks a second of a key that is hot. The label is a hash, which /debug/actors has too, unless the node shows hot keys.", "key"),
		share:   of("jeton_hot_key_share", "Share of the node's checks that a key has that is hot, 0 to 1.", "key"),
		denied:  of("jeton_hot_key_denied_share", "Share of the checks of a key that is hot that were denied, 0 to 1.", "key"),
	}
}

// Describe implements prometheus.Collector.
func (h hotKeys) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{h.count, h.rate, h.share, h.denied} {
		to <- d
	}
}

// Collect implements prometheus.Collector. Two keys whose labels are the same, since labels are cut, are shown as one, the busier one.
func (h hotKeys) Collect(to chan<- prometheus.Metric) {
	_, keys := h.checked()
	n, shown := 0, map[string]bool{}
	for i := range keys {
		k := &keys[i]
		if !k.Hot {
			continue
		}
		n++
		if shown[k.Label] {
			continue
		}
		shown[k.Label] = true
		to <- prometheus.MustNewConstMetric(h.rate, prometheus.GaugeValue, k.PerSecond, k.Label)
		to <- prometheus.MustNewConstMetric(h.share, prometheus.GaugeValue, k.Share, k.Label)
		to <- prometheus.MustNewConstMetric(h.denied, prometheus.GaugeValue, k.Denied, k.Label)
	}
	to <- prometheus.MustNewConstMetric(h.count, prometheus.GaugeValue, float64(n))
}
