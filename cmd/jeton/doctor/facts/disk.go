package facts

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/storage/datadir"
)

// How the disk is timed: so many writes of a block at the end of a file, each with an fsync, for so long at most.
const (
	fsyncs     = 64
	blockBytes = 4096
	fsyncFor   = 3 * time.Second
)

// A Disk is what a folder is on.
type Disk struct {
	Mount Mount `json:"mount"`
	Drive Drive `json:"drive"`
	Fsync Fsync `json:"fsync"`
	Room
}

// Fsync is how long writes took that wait for the disk.
type Fsync struct {
	Writes  int           `json:"writes"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	Unknown string        `json:"unknown,omitempty"`
}

func diskOf(ctx context.Context, dir string) Disk {
	d := Disk{Mount: mountOf(dir), Room: roomOf(dir)}
	d.Drive = driveOf(d.Mount)
	d.Fsync = timeFsyncs(ctx, dir, (*os.File).Sync)
	return d
}

// timeFsyncs times writes in a folder, and leaves nothing there. sync is what waits for the disk.
func timeFsyncs(ctx context.Context, dir string, sync func(*os.File) error) (f Fsync) {
	path := filepath.Join(dir, datadir.ProbeFile)
	_ = os.Remove(path) // which a program that was killed has left
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Fsync{Unknown: err.Error()}
	}
	defer func() {
		if err := errors.Join(file.Close(), os.Remove(path)); err != nil && f.Unknown == "" {
			f.Unknown = err.Error()
		}
	}()
	took, block, began := []time.Duration{}, make([]byte, blockBytes), time.Now()
	for len(took) < fsyncs && time.Since(began) < fsyncFor && ctx.Err() == nil {
		before := time.Now()
		_, err := file.Write(block)
		if err == nil {
			err = sync(file)
		}
		if err != nil {
			return Fsync{Unknown: err.Error()}
		}
		took = append(took, time.Since(before))
	}
	if len(took) == 0 {
		return Fsync{Unknown: context.Cause(ctx).Error()}
	}
	slices.Sort(took)
	return Fsync{Writes: len(took), P50: took[len(took)/2], P99: took[min(len(took)-1, len(took)*99/100)]}
}
