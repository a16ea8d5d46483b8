package node

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage"
)

// Whenever the power is cut while an old copy is given up, the directory is what it was, or that of a new node that knows
// where its cluster is: one that did not know could not go on, or would found another.
func TestRenewIsCutShort(t *testing.T) {
	const data, nodes = "/var/lib/jeton", `{"00000000000000000000000000000001":{"grpc":"h:1","gossip":"h:7701"}}`
	for n := 1; ; n++ {
		memory := vfs.NewCrashableMem()
		store, err := storage.Open(storage.Config{Dir: data, FS: memory, Partitions: 1, Now: func() int64 { return 1 }})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Close(); err != nil {
			t.Fatal(err)
		}
		if err := memory.MkdirAll(clusterDir(data), 0o700); err != nil {
			t.Fatal(err)
		}
		file, err := memory.Create(clusterDir(data)+"/nodes.json", vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write([]byte(nodes)); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		memory = newDisk(memory).copied() // all of it is on the disk
		d := newDisk(memory)
		d.thaw()
		var left *vfs.MemFS
		d.arm(n, anything, func() { left = d.cut(0, nil) })
		if err := Renew(d, data); err != nil && !errors.Is(err, errNoPower) {
			t.Fatal(err)
		}
		if left == nil {
			if n < 10 {
				t.Errorf("only %d operations", n-1)
			}
			return
		}
		cfg := Config{Data: data, FS: left}
		err = cfg.applyRejoin()
		_, renewing := left.Stat(data + "/RENEW")
		_, gone := left.Stat(clusterDir(data) + "/nodes.json")
		begun := renewing == nil || errors.Is(gone, fs.ErrNotExist)
		if knows := slices.Equal(cfg.Join, []string{"h:7701"}); begun && (!knows || err != nil) || !begun && err != nil {
			t.Errorf("without power from operation %d on: begun: %v, it joins %q, %v", n, begun, cfg.Join, err)
		}
	}
}
