package cluster

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
)

// An override that is set at one node is known there at once, and soon at all; who set it stands beside it.
func TestOverridesAreSetFromAnyNode(t *testing.T) {
	all := trio(t)
	ctx := WithOrigin(t.Context(), Origin{Who: "token ann"})
	for _, ch := range all {
		name := ch.config.Name
		if err := ch.cluster.SetOverride(ctx, "login", name, "deny", time.Hour); err != nil {
			t.Fatal(err)
		}
		if o, ok := ch.cluster.State().Overrides.Find(agreed.OverrideKey{Limit: "login", Key: name}); !ok || o.Until != o.At+int64(time.Hour) {
			t.Errorf("node %s does not know what it has set: %+v", name, o)
		}
	}
	if err := all[0].cluster.UnsetOverride(ctx, "login", "c"); err != nil {
		t.Fatal(err)
	}
	if err := all[0].cluster.UnsetOverride(ctx, "login", "nothing"); err != nil {
		t.Fatal(err)
	}
	for _, ch := range all {
		ch.sees("two overrides", func(s *agreed.State) bool { return s.Overrides.Len() == 2 && len(s.Audit) == 4 })
		found := ch.cluster.Overrides("login")
		if len(found) != 2 || found[0].Key != "a" || found[1].Key != "b" || found[0].Who != "token ann" || found[0].Says != "deny" || found[0].Until.IsZero() {
			t.Errorf("node %s has %+v", ch.config.Name, found)
		}
		if other := ch.cluster.Overrides("other"); len(other) != 0 {
			t.Errorf("another limit has %+v", other)
		}
	}
}
