package bench

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

const (
	askedKeys  = 10_000_000
	askedIdle  = 2 * time.Minute
	askedSlice = 10 * time.Second // of the load, and between two values of the curve
)

// askedOnce has a node decide about many keys, each asked once, as fast as it can, and tells its memory in MiB at the peak, and when it had nothing to
// do for two minutes after that. What it was in between is said.
func askedOnce(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	l := batches(New)
	l.Limit, l.Duration = limit.Named(minuteLimit), askedSlice
	if err := l.check(); err != nil {
		return nil, err
	}
	n, err := t.startNode(ctx, filepath.Join(folder, "node"), d)
	if err != nil {
		return nil, err
	}
	defer n.stop()
	s, err := dialer(dialRaw).over(ctx, "node", children{n.child}, []string{n.grpc}, l)
	if err != nil {
		return nil, err
	}
	defer s.service.close() //nolint:errcheck // everything was answered
	w := watchMemory(ctx, n.cmd.Process.Pid)
	start := time.Now()
	for checks := int64(0); checks < askedKeys; {
		r, err := s.measure(ctx, l)
		if err != nil {
			w.end()
			return nil, err
		}
		checks += r.Checks
	}
	asked := time.Since(start)
	pause(ctx, askedIdle)
	curve, err := w.end(), ctx.Err()
	if err != nil || len(curve) == 0 {
		return nil, errors.Join(err, errors.New("the memory of the node was not read"))
	}
	t.say("asked about %d keys in %.0f s; MiB every %v from the first check on: %s", askedKeys, asked.Seconds(), askedSlice, curve.every(askedSlice))
	return []Spread[float64]{
		spreadOf([]float64{curve.peak()}), spreadOf([]float64{curve[len(curve)-1]}), spreadOf([]float64{asked.Seconds()}),
	}, nil
}

// A memoryCurve is the memory of a process in MiB, once a second.
type memoryCurve []float64

func (c memoryCurve) peak() (highest float64) {
	for _, v := range c {
		highest = max(highest, v)
	}
	return highest
}

// every are the values at such distances, rounded.
func (c memoryCurve) every(d time.Duration) string {
	var said []string
	for i := 0; i < len(c); i += int(d / time.Second) {
		said = append(said, strconv.FormatFloat(c[i], 'f', 0, 64))
	}
	return strings.Join(said, " ")
}

// A memoryWatch reads the memory of a process until it is ended.
type memoryWatch struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	curve  memoryCurve
}

func watchMemory(ctx context.Context, pid int) *memoryWatch {
	w := &memoryWatch{}
	ctx, w.cancel = context.WithCancel(ctx)
	w.done.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			if v, err := residentMiB(pid); err == nil {
				w.curve = append(w.curve, v)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	return w
}

// end is what was read.
func (w *memoryWatch) end() memoryCurve {
	w.cancel()
	w.done.Wait()
	return w.curve
}
