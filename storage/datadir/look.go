package datadir

import (
	"errors"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/files"
)

// A Seen is what Look sees.
type Seen struct {
	Format int // of the directory; 0: it is no data directory yet, and may become one
	Newest int // that this program knows
	// Renewing says that a renewal was interrupted: the next Open empties the directory.
	Renewing bool
}

// Look reads which format a data directory has, and changes nothing. The error says why Open would refuse the directory. fs nil means the
// operating system's.
func Look(fs vfs.FS, dir string) (Seen, error) {
	if fs == nil {
		fs = vfs.Default
	}
	seen := Seen{Newest: NewestFormat}
	path := fs.PathJoin(dir, FormatFile)
	text, err := files.Read(fs, path)
	if err == nil {
		if seen.Format, err = checkFormat(text, dir, path); err != nil {
			return seen, err
		}
		_, err = fs.Stat(fs.PathJoin(dir, RenewFile))
		seen.Renewing = err == nil
		return seen, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return seen, Explain(dir, err)
	}
	switch names, err := fs.List(dir); {
	case errors.Is(err, os.ErrNotExist):
		return seen, nil
	case err != nil:
		return seen, Explain(dir, err)
	default:
		return seen, checkEmpty(names, dir)
	}
}
