package nodes

import (
	"context"
	"testing"

	"github.com/jeton-dev/jeton/actor/limit"
)

// TestSilence meets an address that takes connections and says nothing. That may be a wrong port, unless a node has answered there
// before, or only a table names it: then it is frozen. Nobody looks at the addresses of a set that was told no way to.
func TestSilence(t *testing.T) {
	silent := func(context.Context, string) Diagnosis { return Diagnosis{Wrong: "it is silent", Silent: true} }
	for name, test := range map[string]struct {
		diagnose    func(context.Context, string) Diagnosis
		spoke, told bool
		table       bool
	}{
		"nobody has answered there": {diagnose: silent, told: true},
		"a node has answered there": {diagnose: silent, spoke: true},
		"a table names it":          {diagnose: silent, table: true},
		"nobody can look":           {},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{address: "192.0.2.1:7700", named: !test.table, lookAt: test.diagnose}
			if test.spoke {
				n.diagnosed.clear()
			}
			n.diagnose(t.Context(), limit.ErrUnavailable)
			if wrong := n.diagnosed.wrong.Load(); (wrong != nil) != test.told {
				t.Errorf("told: %v", wrong)
			}
		})
	}
}
