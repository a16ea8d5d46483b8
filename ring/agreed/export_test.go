package agreed

import "github.com/jeton-dev/jeton/ring"

// What the tests of this package see beside its exported names.

// SameSet is sameSet.
func SameSet(a, b []ring.NodeID) bool { return sameSet(a, b) }

// Present is present.
func (s *State) Present(ids []ring.NodeID) int { return s.countMembers(ids) }

// DraftTable is draftTable.
func (s *State) DraftTable() *State { return s.draftTable() }

// WithDraining is withDraining.
func (s *State) WithDraining(n Node, draining bool) *State { return s.withDraining(n, draining) }

// Kind is kind.
func (c *Command) Kind() (any, error) { return c.kind() }
