package files

import "github.com/cockroachdb/pebble/v2/vfs"

// Usage is how many bytes the files of a directory have, those in its folders included, and how many are free on its file system for this
// process; free is 0 where the file system does not tell. What is removed meanwhile does not count.
func Usage(fs vfs.FS, dir string) (used, free int64) {
	if usage, err := fs.GetDiskUsage(dir); err == nil {
		free = int64(min(usage.AvailBytes, 1<<62)) //nolint:gosec // it fits
	}
	return usedBy(fs, dir), free
}

func usedBy(fs vfs.FS, dir string) (sum int64) {
	names, err := fs.List(dir)
	if err != nil {
		return 0
	}
	for _, name := range names {
		path := fs.PathJoin(dir, name)
		info, err := fs.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			sum += usedBy(fs, path)
		default:
			sum += info.Size()
		}
	}
	return sum
}
