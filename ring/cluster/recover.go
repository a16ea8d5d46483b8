package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// recoverAlone is raft's half of a forced recovery, on the one node that the operator asks: it makes raft a cluster of
// this node alone, with everything that is in its log taken for committed, and waits until this node leads. Then the
// recover command can be proposed. Every other node that survived has to be reset before it may come back. The agreement
// runs afterwards, on an error too, unless that says otherwise.
func (a *agreement) recoverAlone(ctx context.Context) error {
	if err := a.restartAlone(); err != nil {
		return fmt.Errorf("recovering raft: %w", err)
	}
	for {
		leading, changed := a.leading()
		if leading {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting to lead: %w", ctx.Err())
		}
	}
}

// restartAlone stops raft, rewrites its configuration, and starts it again.
func (a *agreement) restartAlone() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.disk == nil {
		return errors.New("the agreement is closed")
	}
	if err := a.stopRaftLocked(); err != nil {
		return err
	}
	if err := a.connectLocked(); err != nil {
		return err
	}
	alone := configurationOf([]server{{ID: a.config.ID, Address: a.config.Advertise, Voter: true}})
	err := raft.RecoverCluster(a.raftConfig(), newMachine(a.marks, a.fail), a.disk.logs, a.disk.stable,
		a.disk.snapshots, a.transport, alone)
	if err == nil {
		a.stored.Store(&alone)
	}
	return errors.Join(err, a.startLocked())
}

// reset makes this node one that raft can be given again, after another node has recovered the cluster: it drops the log,
// the snapshots and the state, and keeps the highest marks, and raft's term and vote. If raft ran it runs again, without
// a configuration, and waits to be added.
func (a *agreement) reset() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.disk == nil {
		return errors.New("the agreement is closed")
	}
	ran := a.running.Load() != nil
	if err := a.stopRaftLocked(); err != nil {
		return err
	}
	keep, err := a.disk.keep(a.marks)
	if err != nil {
		return fmt.Errorf("resetting raft: %w", err)
	}
	err = a.disk.close()
	a.disk = nil
	if err == nil {
		err = dropRaft(a.config.folder(), keep)
	}
	if err != nil {
		return fmt.Errorf("resetting raft: %w", err)
	}
	if err := a.openLocked(); err != nil {
		return err
	}
	a.machine.empty()
	if !ran {
		return nil
	}
	return a.startLocked()
}

// dropRaft makes what is kept durable, then takes the rest away in one step; the next openDisk deletes it.
func dropRaft(in folder, k kept) error {
	if err := k.write(in); err != nil {
		return err
	}
	if err := in.remove(oldDir); err != nil {
		return err
	}
	if err := in.fs.Rename(in.path(raftDir), in.path(oldDir)); err != nil {
		return err
	}
	return in.sync(in.dir)
}

// supposed is the state if everything in this node's log is agreed. A recovery makes it so; until then, while raft does not
// run, nobody knows how much of it is.
func (a *agreement) supposed() (*State, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.disk == nil {
		return nil, errors.New("the agreement is closed")
	}
	found, covered, err := newestSnapshot(a.disk.snapshots)
	if err != nil {
		return nil, err
	}
	last, err := a.disk.logs.LastIndex()
	if err != nil {
		return nil, err
	}
	first, err := a.disk.logs.FirstIndex()
	if err != nil {
		return nil, err
	}
	s := found.state
	for index := max(first, covered+1); index <= last; index++ {
		var entry raft.Log
		if err := a.disk.logs.GetLog(index, &entry); err != nil {
			return nil, fmt.Errorf("entry %d of the log: %w", index, err)
		}
		if entry.Type != raft.LogCommand {
			continue
		}
		c, err := decodeCommand(entry.Data)
		if err != nil {
			return nil, fmt.Errorf("entry %d of the log: %w", index, err)
		}
		if next, err := c.apply(s); err == nil { // a refused one has changed nothing
			s = next
		}
	}
	return s, nil
}
