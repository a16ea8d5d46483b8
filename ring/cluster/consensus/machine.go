package consensus

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/jeton-dev/jeton/ring/agreed"
)

// machine is raft's state machine: it applies commands and publishes each state. Raft calls Apply, Snapshot and Restore
// one at a time.
type machine struct {
	published atomic.Pointer[published]
	current   *agreed.State // raft's goroutine
	broken    error         // raft's goroutine: a command could not be read; what follows must not be applied
	marks     *marks
	fail      func(error)
}

// published is a state, until changed is closed.
type published struct {
	state   *agreed.State
	changed chan struct{}
}

// newMachine is a machine before the founding. It notes the marks of the snapshots that it restores, and tells fail of a
// command that it cannot read.
func newMachine(m *marks, fail func(error)) *machine {
	machine := &machine{current: &agreed.State{}, marks: m, fail: fail}
	machine.published.Store(&published{state: machine.current, changed: make(chan struct{})})
	return machine
}

// publish shows s, unless it or a later state was shown before: a raft that is restarted runs through older states again.
func (m *machine) publish(s *agreed.State) {
	if old := m.published.Load(); s.Version > old.state.Version {
		m.show(s)
	}
}

// show shows s whatever was shown before.
func (m *machine) show(s *agreed.State) {
	old := m.published.Swap(&published{state: s, changed: make(chan struct{})})
	close(old.changed)
}

// empty goes back to before the founding. Raft must not run.
func (m *machine) empty() {
	m.current, m.broken = &agreed.State{}, nil
	m.show(m.current)
}

// Apply implements raft.FSM. It returns why the command is refused, an error, or nil.
func (m *machine) Apply(entry *raft.Log) any {
	if m.broken != nil {
		return m.broken
	}
	c, err := agreed.DecodeCommand(entry.Data)
	if err != nil {
		m.broken = fmt.Errorf("entry %d of the raft log: %w (if a newer release wrote it, run that release)", entry.Index, err)
		m.fail(m.broken)
		return m.broken
	}
	next, err := c.Apply(m.current)
	if err != nil {
		return err
	}
	m.current = next
	m.publish(next)
	return nil
}

// Snapshot implements raft.FSM.
func (m *machine) Snapshot() (raft.FSMSnapshot, error) {
	if m.broken != nil {
		return nil, m.broken
	}
	return snapshot{m.current}, nil
}

// Restore implements raft.FSM.
func (m *machine) Restore(source io.ReadCloser) error {
	s, err := readState(source)
	if err != nil {
		return err
	}
	m.current, m.broken = s, nil
	m.marks.noteState(s)
	m.publish(s)
	return nil
}

// readState reads a snapshot.
func readState(source io.Reader) (*agreed.State, error) {
	s := &agreed.State{}
	if err := json.NewDecoder(source).Decode(s); err != nil {
		return nil, fmt.Errorf("reading a snapshot: %w", err)
	}
	return s, nil
}

// A snapshot is a state on its way to the disk.
type snapshot struct{ state *agreed.State }

// Persist implements raft.FSMSnapshot.
func (s snapshot) Persist(sink raft.SnapshotSink) error {
	encoder := json.NewEncoder(sink)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(s.state); err != nil {
		return fmt.Errorf("writing a snapshot: %w", errors.Join(err, sink.Cancel()))
	}
	return sink.Close()
}

// Release implements raft.FSMSnapshot.
func (s snapshot) Release() {}
