package edge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// lookEvery is how often Run looks at the document on disk.
const lookEvery = time.Second

// following is what is known of the document on disk.
type following struct {
	mu      sync.Mutex
	problem error    // why what is on disk is not in force; nil when it is
	refused [32]byte // digest of the document that problem is about, if it could be read
}

// followed notes that s, which is on disk, is in force.
func (e *Edge) followed(s *setup) {
	e.now.Store(s)
	e.following.problem, e.following.refused = nil, [32]byte{}
	e.counts.loadedAt.SetToCurrentTime()
	e.counts.current.Set(1)
	for _, w := range s.doc.Warnings() {
		e.cfg.Logger.Warn("the document lets clients decide what they should not", "file", e.cfg.Path, "line", w.Line, "field", w.Field, "problem", w.Problem)
	}
}

// Run follows the document until ctx ends, which is no error, or the gateway fails, and does not close it. It looks once
// a second whether the document or one of its files has changed, however it was replaced, and at once when hangup has
// something. A changed document is put in force whole, or, if anything is wrong with it, not at all: then the old one stays
// in force, and the log, /readyz and the metrics say so.
//
// Nodes of a cluster tell the gateway when limits change. One that is alone does not: Run asks it once a second.
func (e *Edge) Run(ctx context.Context, hangup <-chan os.Signal) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.watchLimits(ctx)
			_ = e.look(false) // which has logged what is wrong
		case <-hangup:
			_ = e.look(true)
		case <-e.failed:
			return e.failure
		case <-ctx.Done():
			return nil
		}
	}
}

// Reload looks at the document on disk now. The error is why it is not in force.
func (e *Edge) Reload() error { return e.look(true) }

// look puts the document on disk in force, if it is another one. What is wrong is said once, or again when it was asked for.
func (e *Edge) look(asked bool) error {
	f := &e.following
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := e.cfg.read()
	switch {
	case err != nil:
		again := f.problem != nil && f.refused == [32]byte{} && f.problem.Error() == err.Error()
		e.keepOld(invalid, err, [32]byte{}, again, asked)
	case s.digest == e.now.Load().digest:
		if f.problem != nil {
			e.cfg.Logger.Info("the document on disk is the one in force again", "file", e.cfg.Path)
			f.problem, f.refused = nil, [32]byte{}
			e.counts.current.Set(1)
		} else if asked {
			e.cfg.Logger.Info("nothing has changed", "file", e.cfg.Path)
		}
	case f.problem != nil && s.digest == f.refused && !asked: // said already
	default:
		e.replace(s, asked)
	}
	return f.problem
}

// replace puts s in force, if that can be done. following.mu is held.
func (e *Edge) replace(s *setup, asked bool) {
	err := s.follows(e.now.Load())
	if err == nil {
		err = e.gateway.Load(s.doc)
	}
	if err != nil {
		e.keepOld(refused, err, s.digest, s.digest == e.following.refused, asked)
		return
	}
	e.followed(s)
	e.counts.reloads.WithLabelValues(loaded).Inc()
	e.cfg.Logger.Info("document in force", "file", e.cfg.Path, "routes", len(s.doc.Routes))
}

// keepOld notes that what is on disk cannot be put in force. It is counted and said once for each thing on disk.
func (e *Edge) keepOld(outcome string, err error, digest [32]byte, again, asked bool) {
	e.following.problem, e.following.refused = err, digest
	e.counts.current.Set(0)
	if !again {
		e.counts.reloads.WithLabelValues(outcome).Inc()
	}
	if !again || asked {
		e.cfg.Logger.Error("document not put in force: the old one stays", "file", e.cfg.Path, "error", err)
	}
}

// configured says why the document on disk is not in force, and nil if it is.
func (e *Edge) configured() error {
	f := &e.following
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.problem
}

// Ready says whether the gateway takes requests, and if not, why.
func (e *Edge) Ready() error {
	select {
	case <-e.stopping:
		return errors.New("the gateway is stopping")
	default:
	}
	if e.limits() == nil {
		return fmt.Errorf("the cluster has not told its limits yet: asked at %v", e.now.Load().servers)
	}
	return nil
}
