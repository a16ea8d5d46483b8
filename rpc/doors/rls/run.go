package rls

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/rpc/doors/rls/descriptors"
)

// poll is how often the files are read.
const poll = time.Second

// Run follows the files, or the source, until ctx ends. The files are read each second, and what has changed is put in force. Where that has a mistake, the
// mistake is logged once and what was in force stays, until the files are right again. Run is called once.
func (d *Door) Run(ctx context.Context) {
	if d.cfg.Source != nil {
		d.cfg.Source.Follow(ctx, d.take)
		return
	}
	f := follower{door: d, seen: d.files}
	if d.state.Load() == nil {
		f.wrong = errors.New(*d.mistake.Load())
		f.logged = f.wrong.Error()
	}
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f.look()
		}
	}
}

// A follower is what Run knows of the files.
type follower struct {
	door   *Door
	seen   []descriptors.File // when they were last read
	wrong  error              // with these
	logged string             // the mistake that was logged last, until there is none
}

// look reads the files once.
func (f *follower) look() {
	d := f.door
	files, err := d.readFiles()
	switch {
	case err != nil:
	case slices.EqualFunc(files, f.seen, sameFile):
		err = f.wrong
	default:
		err = d.adoptFiles(files)
		f.seen, f.wrong = files, err
		if err == nil {
			d.metrics.configurationTaken.Inc()
			d.cfg.Logger.Info("new rules of Envoy's rate limit service are in force", "directory", d.cfg.Directory, "files", len(files))
		} else {
			d.metrics.configurationLeft.Inc()
		}
	}
	if err == nil {
		f.logged = ""
		d.mistake.Store(nil)
		d.metrics.refused.Set(0)
		return
	}
	d.metrics.refused.Set(1)
	if text := err.Error(); text != f.logged {
		f.logged = text
		d.mistake.Store(&text)
		d.cfg.Logger.Error("new rules of Envoy's rate limit service are refused, and those before stay in force", "error", err)
	}
}

func sameFile(a, b descriptors.File) bool { return a.Name == b.Name && bytes.Equal(a.Text, b.Text) }
