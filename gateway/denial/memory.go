package denial

import (
	"crypto/subtle"
	"fmt"
	"sync"
)

// defaultSize is how many denials a Memory holds by default.
const defaultSize = 10_000

// A Memory holds the newest denials of one gateway: a ring in which every denial has the place that its number gives it,
// and takes it from the one that has been there for a whole round. It is safe for concurrent use.
type Memory struct {
	name string

	mu    sync.Mutex
	last  uint64    // number of the newest denial
	round []*Record // by number modulo its length; nil: not yet used
}

// NewMemory makes a Memory of that many denials, 0 or less for 10,000. The ids begin with the [Name] of the gateway, which shows the
// gateway that made them.
func NewMemory(gateway string, size int) *Memory {
	if size <= 0 {
		size = defaultSize
	}
	return &Memory{name: Name(gateway), round: make([]*Record, size)}
}

// Remember sets the ID and the Gateway of r and, unless it has one, its PassesAt, and keeps r itself. From then on the caller must not
// change r. It may change only what is Attached, and only before it sends the id to the client: until then, no request can recall r.
func (m *Memory) Remember(r *Record) (id string) {
	m.mu.Lock()
	m.last++
	number := m.last
	m.mu.Unlock()

	r.ID, r.Gateway = newID(m.name, number), m.name
	if r.PassesAt.IsZero() {
		r.PassesAt = r.passesAt()
	}

	m.mu.Lock()
	defer m.mu.Unlock()
	if size := uint64(len(m.round)); m.last-number < size { // else a whole round has passed meanwhile
		m.round[number%size] = r
	}
	return r.ID
}

// Replace puts r in the place of the record with its ID, which Remember has set, and does nothing if that is forgotten. From then on the
// caller must not change r.
func (m *Memory) Replace(r *Record) {
	_, number, err := parse(r.ID)
	if err != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := &m.round[number%uint64(len(m.round))]; *at != nil && (*at).ID == r.ID {
		*at = r
	}
}

// Recall is the denial with that id. The caller must not change it. Its errors are ErrForgotten, ErrElsewhere, which names the gateway
// of the id, and ErrMalformed.
func (m *Memory) Recall(id string) (*Record, error) {
	name, number, err := parse(id)
	if err != nil {
		return nil, err
	}
	if name != m.name {
		return nil, fmt.Errorf("%w: ask %s, this is %s", ErrElsewhere, name, m.name)
	}
	m.mu.Lock()
	r := m.round[number%uint64(len(m.round))]
	m.mu.Unlock()
	if r == nil || subtle.ConstantTimeCompare([]byte(r.ID), []byte(id)) == 0 {
		return nil, ErrForgotten
	}
	return r, nil
}
