package node

import (
	"context"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/files"
)

// measureEvery is how old what is known of the disk may be.
const measureEvery = 5 * time.Second

// A diskGauge says how much of the disk is used, as of some seconds ago. It measures when it is asked, and never twice at a time: a disk may hang.
type diskGauge struct {
	fs  vfs.FS
	dir string
	run func(func(context.Context)) bool // in a goroutine

	mu        sync.Mutex
	used      int64
	free      int64
	at        time.Time     // when that was
	measuring chan struct{} // closed when a measuring ends; nil while there is none
}

// read is what is known; it waits for a measuring if that is due, until ctx ends or for a tenth of a second.
func (g *diskGauge) read(ctx context.Context) (used, free int64) {
	g.mu.Lock()
	if g.measuring == nil && time.Since(g.at) >= measureEvery {
		ended := make(chan struct{})
		if g.run(func(context.Context) { g.measure(ended) }) {
			g.measuring = ended
		}
	}
	waits := g.measuring
	g.mu.Unlock()
	if waits != nil {
		soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		select {
		case <-waits:
		case <-soon.Done():
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used, g.free
}

func (g *diskGauge) measure(ended chan struct{}) {
	used, free := files.Usage(g.fs, g.dir)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used, g.free, g.at, g.measuring = used, free, time.Now(), nil
	close(ended)
}
