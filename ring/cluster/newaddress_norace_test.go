//go:build !race

package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// In these tests a leader learns that a node has another address, whose record raft's library (github.com/hashicorp/raft v1.7.3, updateLastAppended)
// reads without the lock that it is written under. The race is the library's, and harmless: it reads the id, which stays the same.

func TestUnreachableAddressIsRefused(t *testing.T) {
	a, b := pair(t)
	b.config.tuning.patience = 300 * time.Millisecond
	listens := b.config.GRPC
	b.config.GRPC = "nowhere:7700"
	b.rig.fabric.mu.Lock()
	b.rig.fabric.cut = func(address string) error {
		if address == "nowhere:7700" {
			return errors.New("no route")
		}
		return nil
	}
	b.rig.fabric.mu.Unlock()
	b.start()
	b.ends(message.ErrUnreachable)
	if text := b.err.Error(); !strings.Contains(text, "nowhere:7700") || !strings.Contains(text, "--advertise") {
		t.Errorf("it is told %q", text)
	}
	b.config.GRPC = listens
	b.raise()
	startAll(b)
	a.members(2)
}

func TestTwoProcessesOnCopiesOfOneDisk(t *testing.T) {
	a, b := pair(t)
	marks := make(chan agreed.Mark, 1)
	b.start()
	joined(b)
	b.stop()
	copied := filepath.Join(t.TempDir(), "cluster")
	if err := os.CopyFS(copied, os.DirFS(b.config.Dir)); err != nil {
		t.Fatal(err)
	}
	b.config.NewMarks = marks
	startAll(b)

	twin := a.rig.chair("b", 0)
	twin.config.ID, twin.config.Dir, twin.config.Join = b.config.ID, copied, b.config.Join

	t.Log("the copy has started with the same mark")
	twin.config.Mark, twin.config.MarkBefore = b.config.Mark, b.config.MarkBefore
	twin.start()
	twin.ends(message.ErrOldCopy)

	t.Log("the copy was taken from the running node: the next mark of either tells")
	twin.config.MarkBefore = b.config.Mark
	twin.config.Mark = agreed.Mark{Boot: b.config.Mark.Boot + 1, Minute: b.config.Mark.Minute}
	twin.start()
	a.sees("the twin has raised the mark", func(s *agreed.State) bool { return s.Nodes[b.config.ID].Mark == twin.config.Mark })
	marks <- agreed.Mark{Boot: b.config.Mark.Boot, Minute: b.config.Mark.Minute + 1}
	b.ends(message.ErrDiskInUse)
	joined(twin)
}
