package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/consensus"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// A seat is one node of a rig: its configuration, its disk, and its present life, if it has one.
type seat struct {
	rig  *rig
	cfg  Config
	logs *logbook

	// What the disks of its lives are made with.
	lies  func(operation) bool
	fault func(operation) *flaw

	mu      sync.Mutex
	platter *vfs.MemFS // what is on the disk while the node does not run
	life    *life      // nil while it does not
	renewed int        // how often it has given up an old copy
	halved  int        // in how many of these the power was cut, so that the old copy may have stayed
	outside int        // how often no leader let it in, and it was started again
	starts  int        // how often it was started
	cuts    int        // how often its power was cut
	percent *int       // how much of what is not synced a cut leaves; nil: drawn each time
}

// A life is a node from its start to its end.
type life struct {
	disk   *disk
	opened chan struct{} // closed when Open has returned
	node   *Node
	err    error
	dark   chan struct{} // closed when the power was cut
}

func (l *life) cut() bool {
	select {
	case <-l.dark:
		return true
	default:
		return false
	}
}

func (s *seat) joins(others ...*seat) *seat {
	s.cfg.Join = nil
	for _, o := range others {
		s.cfg.Join = append(s.cfg.Join, o.cfg.ListenGossip)
	}
	return s
}

func (s *seat) start() { s.startTrapped(0, nil) }

func (s *seat) startTrapped(n int, counts func(operation) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil {
		s.rig.t.Fatalf("node %s runs already", s.cfg.Name)
	}
	l := &life{disk: newDisk(s.platter), opened: make(chan struct{}), dark: make(chan struct{})}
	l.disk.lies, l.disk.fault = s.lies, s.fault
	cfg := s.cfg
	cfg.FS = l.disk
	cfg.OpenRaft = func(dir string) (consensus.RaftStore, error) { return openRaftDisk(l.disk, dir) }
	s.life = l
	s.starts++
	s.trap(l, n, counts)
	go func() {
		defer close(l.opened)
		l.node, l.err = Open(cfg)
	}()
}

func (s *seat) trap(l *life, n int, counts func(operation) bool) {
	l.disk.arm(n, counts, func() { s.darken(l) })
}

// disarm takes away the trap of the node's present life.
func (s *seat) disarm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil {
		s.life.disk.arm(0, nil, nil)
	}
}

func (s *seat) cut() {
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l != nil {
		s.darken(l)
	}
}

func (s *seat) darken(l *life) {
	percent := []int{0, 0, 30, 70}[s.rig.intN(4)]
	if s.percent != nil {
		percent = *s.percent
	}
	left := l.disk.cut(percent, s.rig.source())
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.cut() {
		s.platter = left
		s.cuts++
		close(l.dark)
	}
}

func (s *seat) bury() {
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l == nil {
		return
	}
	if !l.cut() {
		s.rig.t.Fatalf("node %s still has power", s.cfg.Name)
	}
	thawed := false
	select {
	case <-l.opened:
	default: // it has not spoken to another node yet
		l.disk.thaw()
		thawed = true
		<-l.opened
	}
	if n := l.node; n != nil {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		n.stop.Do(func() { close(n.stopping) }) // without saying goodbye to the others
		if n.member != nil {
			n.member.end()
		}
		_ = n.grpc.Stop(gone)
		_ = n.http.Close()
		if n.member != nil {
			_ = n.member.router.Close()
			n.member.peers.Close()
		}
		if !thawed {
			l.disk.thaw()
		}
		_ = n.Close(gone)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == l {
		s.life = nil
	}
}

func powerCut(all ...*seat) {
	var cuts, burials sync.WaitGroup
	for _, s := range all {
		cuts.Go(s.cut)
	}
	cuts.Wait()
	for _, s := range all {
		burials.Go(s.bury)
	}
	burials.Wait()
}

func (s *seat) stop() error {
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l == nil {
		return nil
	}
	<-l.opened
	var err error
	if l.node != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = l.node.Close(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !l.cut() {
		s.platter = l.disk.memory
	}
	if s.life == l {
		s.life = nil
	}
	return err
}

func (s *seat) end() {
	s.mu.Lock()
	running := s.life != nil
	s.mu.Unlock()
	if running {
		s.cut()
		s.bury()
	}
}

func (s *seat) running() (*Node, *life) {
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l == nil || l.cut() {
		return nil, nil
	}
	select {
	case <-l.opened:
		return l.node, l
	default:
		return nil, nil
	}
}

func (s *seat) wipe() { s.restore(vfs.NewCrashableMem()) }

func (s *seat) restore(platter *vfs.MemFS) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil {
		s.rig.t.Fatalf("node %s runs: its disk cannot be changed", s.cfg.Name)
	}
	s.platter = platter
}

func (s *seat) renew() error {
	if err := s.stop(); err != nil {
		return err
	}
	s.mu.Lock()
	s.renewed++
	s.mu.Unlock()
	d := newDisk(s.platter)
	d.thaw() // this goroutine must not wait
	if s.rig.intN(2) == 0 {
		d.arm(1+s.rig.intN(25), anything, func() { s.platter = d.cut(0, nil) })
	}
	switch err := Renew(d, s.cfg.Data); {
	case errors.Is(err, errNoPower):
		s.mu.Lock()
		s.halved++
		s.mu.Unlock()
	case err != nil:
		return err
	}
	s.start()
	return nil
}

func ready(all ...*seat) {
	t := all[0].rig.t
	t.Helper()
	errs := make([]error, len(all))
	var waits sync.WaitGroup
	for i, s := range all {
		waits.Go(func() { errs[i] = s.comes(t.Context(), long) })
	}
	waits.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("node %s: %v", all[i].cfg.Name, err)
		}
	}
	if t.Failed() { // what others wait for may be what has ended one
		t.FailNow()
	}
}

// mostOutside is how often a node is started again that no leader has let in.
const mostOutside = 5

func (s *seat) comes(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		s.mu.Lock()
		l := s.life
		s.mu.Unlock()
		if l == nil {
			return errors.New("it was not started")
		}
		select {
		case <-l.opened:
		case <-l.dark:
		case <-ctx.Done():
			return errors.New("it does not open")
		}
		switch why := l.why(); {
		case l.cut():
			s.bury()
			s.start()
			continue
		case why == nil:
			return nil
		case errors.Is(why, ErrOldCopy):
			if err := s.renew(); err != nil {
				return err
			}
			continue
		case errors.Is(why, message.ErrUnreachable) && s.outside < mostOutside: // on a slow machine, the leader may have no answer of it for as long as it is patient
			s.outside++
			if err := s.stop(); err != nil {
				return err
			}
			s.start()
			continue
		case l.err != nil || l.node.Err() != nil:
			return why
		}
		select {
		case <-l.node.Failed():
		case <-l.dark:
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w", l.why())
		}
	}
}

func (l *life) why() error {
	switch {
	case l.cut():
		return errNoPower
	case l.err != nil:
		return l.err
	case l.node.Err() != nil:
		return l.node.Err()
	}
	return l.node.Ready()
}

func started(all ...*seat) []*seat {
	for _, s := range all {
		s.rig.t.Helper()
		s.start()
	}
	ready(all...)
	return all
}

func (s *seat) state() *agreed.State {
	if n, _ := s.running(); n != nil && n.member != nil {
		return n.member.cluster.State()
	}
	return nil
}
