package rlqs

import "sync"

// Shares are places, of which each address has a quarter at most.
type shares struct {
	most int

	mu  sync.Mutex
	all int
	of  map[string]int // by address; no zeros
}

func newShares(most int) *shares { return &shares{most: most, of: map[string]int{}} }

// take takes a place, if there is one for that address.
func (s *shares) take(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= s.most || s.of[address] >= s.most/4 {
		return false
	}
	s.all++
	s.of[address]++
	return true
}

// leave gives a place back.
func (s *shares) leave(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[address]--; s.of[address] == 0 {
		delete(s.of, address)
	}
}
