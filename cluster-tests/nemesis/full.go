package nemesis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
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

// diskSize is how large the disks are on which nodes live where one is to be filled up. It is taken from the real one only as
// far as it is written.
const diskSize = 1 << 30

// prepareDisk makes the folder of a node's data: a file system of its own, where one can be mounted.
func (h *host) prepareDisk() error {
	if err := os.MkdirAll(h.disk, 0o700); err != nil {
		return err
	}
	if !h.stage.setting.Mounts {
		return nil
	}
	image := h.disk + ".image"
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(diskSize), f.Close()); err != nil {
		return err
	}
	if err := command("mkfs.ext4", "-q", "-m", "0", image); err != nil {
		return err
	}
	if err := command("mount", "-o", "loop", image, h.disk); err != nil {
		return err
	}
	h.stage.t.Cleanup(func() {
		h.kill() //nolint:errcheck // it returns none
		if err := command("umount", h.disk); err != nil {
			h.stage.t.Error(err)
		}
	})
	return nil
}

// CanMount says whether file systems can be mounted here, by mounting one.
func CanMount(folder string) error {
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		return err
	}
	at := filepath.Join(folder, "mounted")
	image := at + ".image"
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	f, err := os.Create(image)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Truncate(1<<20), f.Close()); err != nil {
		return err
	}
	if err := command("mkfs.ext4", "-q", image); err != nil {
		return err
	}
	if err := command("mount", "-o", "loop", image, at); err != nil {
		return err
	}
	return command("umount", at)
}

// command runs a program of the system.
func command(program string, args ...string) error {
	var said bytes.Buffer
	cmd := exec.Command(program, args...) //nolint:noctx // it does not wait
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
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
	log := h.node().Log()
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
