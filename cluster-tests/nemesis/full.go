package nemesis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var kindFull = Kind{
	Name: "disk full", Weight: 1, Shortest: 2 * time.Second, Longest: 8 * time.Second, Recovery: 3 * time.Second,
	Needs: func(s Setting) string {
		if !s.Mounts {
			return "file systems of its own can be mounted by root only, in namespaces of its own"
		}
		return ""
	},
	Draw: func(d *Drawing) Fault { return full{d.one()} },
}

// full is a node whose disk fills up. It has to stop with a clear message, and comes back once there is room.
type full struct{ node int }

func (f full) String() string { return "the disk of " + names(f.node) + " fills up" }

func (full) ballast(h *host) string { return filepath.Join(h.disk, "ballast") }

// Begin fills it up.
func (f full) Begin(_ context.Context, s *Stage) error {
	h := s.host(f.node)
	h.excuse(true)
	// What is free is taken in pieces, the last ones small.
	for i, piece := 0, int64(diskSize/4); piece >= 4<<10; {
		if err := command("fallocate", "-l", fmt.Sprint(piece), fmt.Sprintf("%s-%d", f.ballast(h), i)); err != nil {
			piece /= 2
			continue
		}
		i++
	}
	return nil
}

// End makes room and starts the node again, if it had to end.
func (f full) End(ctx context.Context, s *Stage) error {
	h := s.host(f.node)
	pieces, err := filepath.Glob(f.ballast(h) + "-*")
	if err != nil {
		return err
	}
	for _, piece := range pieces {
		if err := os.Remove(piece); err != nil {
			return err
		}
	}
	log := h.log()
	wanted, _ := h.is()
	if !wanted && !strings.Contains(log, "no space left on device") {
		return fmt.Errorf("%s has ended on a full disk and does not say so: %s", h.name, lastLine(log))
	}
	if wanted {
		s.say("%s has lived through a full disk", h.name)
	}
	if err := s.back(ctx, h); err != nil {
		return err
	}
	h.excuse(false)
	return nil
}
