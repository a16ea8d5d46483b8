package joining

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// A Promise binds the node that gives it: it founds no cluster but that one. Only the founder can release it, by making
// the attempt void.
type Promise struct {
	Founder ring.NodeID `json:"founder"`
	Attempt uint64      `json:"attempt"` // founders count their attempts from 1
}

// A founding is what a node durably knows of founding a cluster.
type founding struct {
	ID ring.NodeID `json:"id"` // whose this is
	// Promised is the promise that this node has given, to itself while an attempt of its own is open.
	Promised *Promise `json:"promised,omitempty"`
	// Attempts counts this node's own. Each of them is void unless it is promised, or decided.
	Attempts uint64 `json:"attempts"`
	// Decided is the cluster that this node founds, come what may: all members have promised.
	Decided *agreed.Found `json:"decided,omitempty"`
	// Member is the cluster that this node was let into, once it was. It founds none any more, nor the one it has decided
	// on: its raft log may be emptied by a forced recovery, and must not begin a second time.
	Member *agreed.Unique `json:"member,omitempty"`
}

// A record keeps a founding on disk.
type record struct {
	folder folder.Folder
	step   func(string) error // in tests: called before and after each write; an error ends the node there

	mu      sync.Mutex
	current founding
}

func openRecord(in folder.Folder, id ring.NodeID, step func(string) error) (*record, error) {
	r := &record{folder: in, step: step, current: founding{ID: id}}
	text, err := in.Read(recordFile)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.current)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the founding record: %w", err)
	}
	if r.current.ID != id {
		return nil, fmt.Errorf("%s belongs to node %s, and this is node %s: it is part of another data directory", in.Path(recordFile), r.current.ID, id)
	}
	return r, nil
}

// recordFile is the file with a record.
const recordFile = "founding.json"

// get is what is on the disk.
func (r *record) get() founding {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// change lets f change what is on the disk, in one step: it is there when change returns. What f refuses changes nothing.
func (r *record) change(what string, f func(*founding) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.current
	if r.current.Promised != nil {
		p := *r.current.Promised
		next.Promised = &p
	}
	if err := f(&next); err != nil {
		return err
	}
	if reflect.DeepEqual(next, r.current) {
		return nil
	}
	if err := r.step("before " + what); err != nil {
		return err
	}
	if err := r.write(next); err != nil {
		return fmt.Errorf("writing the founding record: %w", err)
	}
	r.current = next
	return r.step("after " + what)
}

func (r *record) write(f founding) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return r.folder.Replace(recordFile, text)
}

// openAttempt is the promise that this node gives itself, as a founder: the attempt that is open, or a new one.
func (r *record) openAttempt() (p Promise, err error) {
	err = r.change("attempt", func(f *founding) error {
		switch {
		case f.Promised == nil:
			f.Attempts++
			f.Promised = &Promise{Founder: f.ID, Attempt: f.Attempts}
		case f.Promised.Founder != f.ID:
			return fmt.Errorf("%w: %s", message.ErrPromised, f.Promised.Founder)
		}
		p = *f.Promised
		return nil
	})
	return p, err
}

// promise promises, unless another promise stands. A later attempt of the same founder says that the earlier one is void.
func (r *record) promise(p Promise) error {
	return r.change("promise", func(f *founding) error {
		if held := f.Promised; held != nil && (held.Founder != p.Founder || held.Attempt > p.Attempt) {
			return fmt.Errorf("%w: attempt %d of %s", message.ErrPromised, held.Attempt, held.Founder)
		}
		f.Promised = &p
		return nil
	})
}

// release takes a promise back that its founder has made void; for the founder itself, that makes it void.
func (r *record) release(p Promise) error {
	return r.change("release", func(f *founding) error {
		if f.Promised != nil && *f.Promised == p && f.Decided == nil {
			f.Promised = nil
		}
		return nil
	})
}

// decide makes the attempt p a founding for ever, unless it was made void meanwhile.
func (r *record) decide(p Promise, what *agreed.Found) error {
	return r.change("decision", func(f *founding) error {
		switch {
		case f.Decided != nil:
			return fmt.Errorf("%w by this node", agreed.ErrFounded)
		case f.Promised == nil || *f.Promised != p:
			return fmt.Errorf("%w: attempt %d of this node is void", agreed.ErrStale, p.Attempt)
		}
		f.Decided = what
		return nil
	})
}

// belong notes that this node is a member.
func (r *record) belong(cluster agreed.Unique) error {
	return r.change("membership", func(f *founding) error {
		f.Member = &cluster
		return nil
	})
}

// unfounded is what this node has decided on and has not seen founded yet.
func (f founding) unfounded() *agreed.Found {
	if f.Member != nil {
		return nil
	}
	return f.Decided
}
