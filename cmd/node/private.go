package node

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/datadir"
)

// othersMode are the permissions of users that do not own a file.
const othersMode = fs.FileMode(0o077)

// keepPrivate makes the data directory one that its owner alone may enter, and takes from files of earlier versions what others
// may do with them: registers tell whose requests there were. What belongs to another user, as the root of a volume may, is
// left as it is, with a warning. New files are as the umask of the process says: jeton serve sets 0077.
//
// A directory that [storage.Open] would refuse is refused here, with nothing of it changed.
func keepPrivate(dir string, log *slog.Logger) error {
	if _, err := datadir.Look(nil, dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: %w: name a directory that this user can write to (--data)", storage.ErrUnwritable, err)
	}
	tightened := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		info, err := d.Info()
		if err != nil {
			return ignoreMissing(err)
		}
		mode := info.Mode()
		if mode.Perm()&othersMode == 0 || !mode.IsRegular() && !mode.IsDir() {
			return nil
		}
		switch err := os.Chmod(path, mode.Perm()&^othersMode); {
		case errors.Is(err, fs.ErrPermission):
			log.Warn("other users of this machine can read the data, and this process may not change that: run chmod as the owner",
				"command", "chmod -R go= "+path, "error", err)
		case err != nil:
			return ignoreMissing(err)
		default:
			tightened++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("data: %w", err)
	}
	if tightened > 0 {
		log.Info("restricted files and directories of the data to their owner", "changed", tightened, "data", dir)
	}
	return nil
}

// ignoreMissing is err, but for that of a file that is gone.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
