package consensus

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
)

// resetState is what a reset keeps: the marks, and raft's term and vote, so that this node does not vote twice in one term; and who was named as lost, from
// whom this node takes nothing any more.
type resetState struct {
	Lost     []ring.NodeID               `json:"lost,omitempty"`
	Marks    map[ring.NodeID]agreed.Mark `json:"marks"`
	Term     uint64                      `json:"term"`
	VoteTerm uint64                      `json:"vote_term"`
	Vote     string                      `json:"vote"`
}

// The names under which raft keeps its term and its vote.
const (
	termKey     = "CurrentTerm"
	voteTermKey = "LastVoteTerm"
	voteKey     = "LastVoteCand"
)

// marksFile is where a reset state is.
const marksFile = "marks.json"

// readResetState reads what the last reset kept, if there was one.
func readResetState(in folder.Folder) (k resetState, err error) {
	text, err := in.Read(marksFile)
	if errors.Is(err, os.ErrNotExist) {
		return resetState{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return resetState{}, fmt.Errorf("reading %s: %w", in.Path(marksFile), err)
	}
	return k, nil
}

// preserve is what a reset of this disk is to keep.
func (d *disk) preserve(m *marks) (k resetState, err error) {
	k.Marks = m.all()
	if k.Term, err = ignoreMissing(d.stable.GetUint64([]byte(termKey))); err != nil {
		return resetState{}, err
	}
	if k.VoteTerm, err = ignoreMissing(d.stable.GetUint64([]byte(voteTermKey))); err != nil {
		return resetState{}, err
	}
	vote, err := ignoreMissing(d.stable.Get([]byte(voteKey)))
	k.Vote = string(vote)
	return k, err
}

// ignoreMissing takes a key that is not there for a zero value.
func ignoreMissing[V any](value V, err error) (V, error) {
	if errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return value, nil
	}
	return value, err
}

// restore gives a new stable store its term and vote, and m the marks.
func (k resetState) restore(stable raft.StableStore, m *marks) error {
	for id, mark := range k.Marks {
		m.note(id, mark)
	}
	term, err := ignoreMissing(stable.GetUint64([]byte(termKey)))
	if err != nil || term >= k.Term {
		return err
	}
	// The term comes last: if it is there, the vote is.
	if k.Vote != "" {
		if err := stable.Set([]byte(voteKey), []byte(k.Vote)); err != nil {
			return err
		}
		if err := stable.SetUint64([]byte(voteTermKey), k.VoteTerm); err != nil {
			return err
		}
	}
	return stable.SetUint64([]byte(termKey), k.Term)
}

// write makes k durable.
func (k resetState) write(in folder.Folder) error {
	text, err := json.MarshalIndent(k, "", " ")
	if err != nil {
		return err
	}
	return in.Replace(marksFile, text)
}
