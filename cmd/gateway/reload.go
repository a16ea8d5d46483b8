package gateway

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
	last    onDisk   // at the last look
	settled onDisk   // what two looks in a row saw, or one that an operator asked for; the gateway loads nothing newer
	problem error    // why settled is not in force; nil when it is
	refused [32]byte // digest of the document that problem is about, if it could be read

	since time.Time // when the document in force was put there
}

// found notes what a look finds, and says whether it is settled. A new text, or a missing document, may mean that an editor is
// saving it: it is settled when the next look finds the same, or when an operator asks for a reload.
func (f *following) found(now onDisk, asked bool) bool {
	if asked || now.same(f.last) {
		f.settled = now
	}
	f.last = now
	return now.same(f.settled)
}

// followed notes that s, which is on disk, is in force.
func (e *Gateway) followed(s *setup) {
	e.now.Store(s)
	e.tellEdges(s.doc)
	f := &e.following
	f.problem, f.refused = nil, [32]byte{}
	f.since = time.Now()
	e.counts.loadedAt.SetToCurrentTime()
	e.counts.current.Set(1)
	for _, w := range s.doc.Warnings() {
		e.cfg.Logger.Warn("the document has a probable mistake", "file", e.cfg.Path, "line", w.Line, "field", w.Field, "problem", w.Problem)
	}
}

// Run follows the document until ctx ends, which is no error, or the gateway fails. It does not close the gateway. Once a second,
// and when hangup delivers a signal, it looks whether the document or one of its files has changed, in place or by a rename.
//
// A changed text is loaded when a second look finds it unchanged, so that a file which is being saved is neither loaded nor reported.
// After hangup it is loaded at once, and so are changed files that the document names. A changed document is put in force whole, or,
// if anything is wrong with it, not at all: then the old one stays in force, the log, /readyz and the metrics say so, and Run still
// follows the files that the old one names.
//
// Nodes of a cluster send the gateway the limits when they change. A node that is alone does not: Run asks it once a second.
func (e *Gateway) Run(ctx context.Context, hangup <-chan os.Signal) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = e.look(false)  // it has logged the error
			e.watchLimits(ctx) // which may take a while, and looks are to be a second apart
			e.warnWithoutLimits(ctx, time.Now())
		case <-hangup:
			if e.access != nil {
				e.access.Reopen()
			}
			_ = e.look(true)
		case <-e.doors.Failed():
			return e.doors.Err()
		case <-ctx.Done():
			return nil
		}
	}
}

// Reload looks at the document on disk now. The error is why it is not in force.
func (e *Gateway) Reload() error { return e.look(true) }

// look puts the document on disk in force, if it has changed and is settled. Otherwise it follows the files that the document in
// force names. It logs an error once, and again when an operator asks for a reload.
func (e *Gateway) look(asked bool) error {
	f := &e.following
	f.mu.Lock()
	defer f.mu.Unlock()
	settled := f.found(e.cfg.look(), asked)
	s, err := e.cfg.make(f.settled, nil)
	switch {
	case err != nil && !settled: // a file that the document names may be gone because the new document does not name it
	case err != nil:
		again := f.problem != nil && f.refused == [32]byte{} && f.problem.Error() == err.Error()
		e.keepOld(invalid, err, [32]byte{}, again, asked)
	case s.digest == e.now.Load().digest:
		if f.problem != nil {
			e.cfg.Logger.Info("the document on disk is in force again", "file", e.cfg.Path)
			f.problem, f.refused = nil, [32]byte{}
			e.counts.current.Set(1)
		} else if asked {
			e.cfg.Logger.Info("nothing has changed", "file", e.cfg.Path)
		}
	case f.problem != nil && s.digest == f.refused && !asked: // logged already
	default:
		e.replace(s, asked)
	}
	if f.problem != nil || err != nil {
		e.followFiles()
	}
	return f.problem
}

// followFiles loads the files that the document in force names, while the document on disk is refused: otherwise a revoked key would
// stay valid until an operator corrects the document. If one of these files cannot be used, it loads the API keys alone.
// following.mu is held.
func (e *Gateway) followFiles() {
	before := e.now.Load()
	s, err := e.cfg.make(onDisk{text: before.text}, before)
	if err != nil {
		s, err = e.cfg.withKeys(before)
	}
	if err != nil || s.digest == before.digest || s.follows(before) != nil || e.gateway.Load(s.doc) != nil {
		return
	}
	e.now.Store(s)
	e.tellEdges(s.doc)
	e.following.since = time.Now()
	e.counts.loadedAt.SetToCurrentTime()
	e.counts.reloads.WithLabelValues(loaded).Inc()
	e.sayChange(before.doc, s.doc)
}

// replace puts s in force, if that can be done. following.mu is held.
func (e *Gateway) replace(s *setup, asked bool) {
	before := e.now.Load()
	err := s.follows(before)
	if err == nil {
		err = e.gateway.Load(s.doc)
	}
	if err != nil {
		e.keepOld(refused, err, s.digest, s.digest == e.following.refused, asked)
		return
	}
	e.followed(s)
	e.counts.reloads.WithLabelValues(loaded).Inc()
	e.sayChange(before.doc, s.doc)
}

// keepOld notes that the document on disk cannot be put in force. It counts and logs each refused document once.
func (e *Gateway) keepOld(outcome string, err error, digest [32]byte, again, asked bool) {
	e.following.problem, e.following.refused = err, digest
	e.counts.current.Set(0)
	if !again {
		e.counts.reloads.WithLabelValues(outcome).Inc()
	}
	if !again || asked {
		e.cfg.Logger.Error("the document was not loaded: the previous one stays in force", "file", e.cfg.Path, "error", err)
	}
}

// configured says what is in force, and why the document on disk is not; nil if it is.
func (e *Gateway) configured() (inForce string, problem error) {
	f := &e.following
	f.mu.Lock()
	defer f.mu.Unlock()
	doc := e.now.Load().doc
	holds := counted(len(doc.Routes), "route")
	if doc.Identity.APIKey != nil {
		holds += ", " + counted(doc.APIKeys(), "API key")
	}
	return fmt.Sprintf("%s, in force since %s", holds, f.since.UTC().Format(time.RFC3339)), f.problem
}

// counted is how many there are of something.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Ready says whether the gateway takes requests, and if not, why. It does once one of its clusters has sent its limits: until another one does,
// checks that ask it go by on_unavailable.
func (e *Gateway) Ready() error {
	select {
	case <-e.stopping:
		return errors.New("the gateway is stopping")
	default:
	}
	if err := e.doors.Err(); err != nil {
		return err
	}
	var asked []string
	now := e.now.Load()
	for _, c := range e.clusters {
		switch {
		case !now.doc.Checks(c.name):
			continue
		case c.limits() != nil:
			return nil
		}
		asked = append(asked, now.reach(c.name).servers...)
	}
	return fmt.Errorf("no node has sent the limits of the cluster yet: asked %v", asked)
}
