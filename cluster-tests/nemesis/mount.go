package nemesis

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

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
