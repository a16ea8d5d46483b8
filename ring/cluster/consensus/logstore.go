package consensus

import (
	"fmt"
	"runtime"

	"github.com/hashicorp/raft"
)

// logStore is raft's log, which notes the marks of what it has stored, and tells of the first write that failed.
type logStore struct {
	raft.LogStore
	marks *marks
	fail  func(error)
}

// StoreLog implements raft.LogStore.
func (l *logStore) StoreLog(entry *raft.Log) error { return l.StoreLogs([]*raft.Log{entry}) }

// StoreLogs implements raft.LogStore.
func (l *logStore) StoreLogs(entries []*raft.Log) error {
	if err := l.LogStore.StoreLogs(entries); err != nil {
		err = fmt.Errorf("writing the raft log: %w", err)
		l.fail(err)
		return err
	}
	for _, entry := range entries {
		l.marks.noteEntry(entry)
	}
	return nil
}

// A voteStore is raft's term and vote while raft runs. Raft panics when it cannot write its term; here the node fails, and
// raft's goroutine ends, as if it had stopped just before: it has sent no answer.
type voteStore struct {
	raft.StableStore
	fail func(error)
}

// Set implements raft.StableStore.
func (v *voteStore) Set(key, value []byte) error { return v.written(v.StableStore.Set(key, value)) }

// SetUint64 implements raft.StableStore.
func (v *voteStore) SetUint64(key []byte, value uint64) error {
	return v.written(v.StableStore.SetUint64(key, value))
}

func (v *voteStore) written(err error) error {
	if err != nil {
		v.fail(fmt.Errorf("writing raft's term and vote: %w", err))
		runtime.Goexit()
	}
	return nil
}
