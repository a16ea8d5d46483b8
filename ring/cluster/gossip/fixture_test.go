package gossip

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/ring/key"
)

// eventually is how long a test waits for what has to happen.
const eventually = 60 * time.Second

// soon waits until something holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look, limit := time.NewTicker(5*time.Millisecond), time.After(eventually)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("it does not come true that %s", what)
		}
	}
}

// keyOf is a cluster key.
func keyOf(t *testing.T, secret string) *key.Key {
	t.Helper()
	k, err := key.New([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// refusalsOf is how often that reason was counted.
func refusalsOf(t *testing.T, registry *prometheus.Registry, reason string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" && l.GetValue() == reason {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}
