package storage

import (
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/disktest"
)

// Before a marker is created or removed, the manifest that it names and the step before are durable.
func TestGuardSyncsBeforeMarkers(t *testing.T) {
	var mu sync.Mutex
	var pending []string // manifests and markers that were changed since the directory was synced
	changes := 0
	r := newRig(t, &disktest.Disk{FS: vfs.NewMem(), Step: func(o disktest.Operation) error {
		mu.Lock()
		defer mu.Unlock()
		name := path.Base(o.Path)
		marker := strings.HasPrefix(name, "marker.") && (o.Kind == "create" || o.Kind == "remove")
		if marker {
			changes++
			if len(pending) > 0 {
				t.Errorf("%v comes before these are durable: %v", o, pending)
			}
		}
		switch {
		case o.Kind == "sync" && name == datadir.RegistersDir:
			pending = nil
		case marker, o.Kind == "create" && strings.HasPrefix(name, "MANIFEST-"):
			pending = append(pending, o.String())
		}
		return o.Do()
	}})
	shut(t, r.open(t))
	shut(t, r.open(t))
	if changes < 2 {
		t.Errorf("%d markers were changed", changes)
	}
}
