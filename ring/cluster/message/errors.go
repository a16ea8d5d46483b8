package message

import (
	"errors"

	"github.com/jeton-dev/jeton/ring/agreed"
)

// Why a node cannot take part, or not any more. Each comes with words that say what to do.
var (
	// ErrOldCopy says that the disk is an old copy of what this node had last. It must not be used: the node takes a new
	// one, and joins as a new node.
	ErrOldCopy = errors.New("the data directory is an old copy")
	// ErrDiskInUse says that another process runs on a copy of this disk.
	ErrDiskInUse = errors.New("another process runs as this node, on a copy of its data directory")
	// ErrForeign says that two nodes cannot be in one cluster.
	ErrForeign = errors.New("the node cannot be in the same cluster as this one")
	// ErrUnreachable says that a node cannot be reached at an address that it advertises.
	ErrUnreachable = errors.New("the node cannot be reached")
	// ErrNoLeader says that nothing can be agreed at the moment. It passes when a majority of raft's voters is up.
	ErrNoLeader = errors.New("the cluster has no leader: a majority of its voters must be up and reach one another")
	// ErrAlive refuses a forced recovery without a node that answers, and to remove one by force.
	ErrAlive = errors.New("a node named as lost still answers")
	// ErrPromised refuses a founder because this node has promised another one to found a cluster with it.
	ErrPromised = errors.New("this node has promised another node to found a cluster with it")
)

// wireErrors are the errors that are told apart on the other side, by their names on the wire.
func wireErrors() map[string]error {
	return map[string]error{
		"disk in use":     ErrDiskInUse,
		"foreign":         ErrForeign,
		"founded":         agreed.ErrFounded,
		"has places":      agreed.ErrHasPlaces,
		"invalid":         agreed.ErrInvalid,
		"level":           agreed.ErrLevel,
		"mark not higher": agreed.ErrMarkNotHigher,
		"name taken":      agreed.ErrNameTaken,
		"no leader":       ErrNoLeader,
		"not founded":     agreed.ErrNotFounded,
		"old copy":        ErrOldCopy,
		"promised":        ErrPromised,
		"alive":           ErrAlive,
		"removed":         agreed.ErrRemoved,
		"stale":           agreed.ErrStale,
		"too few":         agreed.ErrTooFew,
		"too many":        agreed.ErrTooMany,
		"unknown node":    agreed.ErrUnknownNode,
		"unreachable":     ErrUnreachable,
	}
}

// A remoteError is another node's error: its words, and, for [errors.Is], what it was there.
type remoteError struct {
	text string
	is   []error
}

func (e *remoteError) Error() string   { return e.text }
func (e *remoteError) Unwrap() []error { return e.is }

// A Refusal carries an error to another node. Its names say which errors of this package it is.
type Refusal struct {
	Names []string `json:"names,omitempty"`
	Text  string   `json:"text"`
}

// refusalOf is an error on its way to another node.
func refusalOf(err error) *Refusal {
	r := &Refusal{Text: err.Error()}
	for name, is := range wireErrors() {
		if errors.Is(err, is) {
			r.Names = append(r.Names, name)
		}
	}
	return r
}

// Err is the refusal as an error again. Names that this version does not know say nothing.
func (r *Refusal) Err() error {
	e := &remoteError{text: r.Text}
	for _, name := range r.Names {
		if is, known := wireErrors()[name]; known {
			e.is = append(e.is, is)
		}
	}
	return e
}
