package cluster

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/jeton-dev/jeton/ring"
)

// A contact is where a node was last: its gRPC and gossip addresses.
type contact struct {
	GRPC   string `json:"grpc"`
	Gossip string `json:"gossip"`
}

// A book keeps the members' addresses on disk. After a start they are needed before raft runs, and so before anything
// that was agreed on is known for sure; --join may name nodes that are long gone. Whatever is in it is only tried.
type book struct {
	path string

	mu       sync.Mutex
	contacts map[ring.NodeID]contact
}

// openBook reads what was kept. A book that is missing or cannot be read is empty: gossip finds nodes without it.
func openBook(dir string) *book {
	b := &book{path: filepath.Join(dir, "nodes.json"), contacts: map[ring.NodeID]contact{}}
	text, err := os.ReadFile(b.path)
	if err != nil || json.Unmarshal(text, &b.contacts) != nil {
		b.contacts = map[ring.NodeID]contact{}
	}
	return b
}

// Addresses are the gossip addresses of the members that a node has written down in its directory, in order; none if it
// has not.
func Addresses(dir string) (gossip []string) {
	for _, at := range openBook(dir).contacts {
		gossip = append(gossip, at.Gossip)
	}
	slices.Sort(gossip)
	return gossip
}

// look is what is kept. It is not to be changed.
func (b *book) look() map[ring.NodeID]contact {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.contacts
}

// keep writes the members' addresses down if they are others than before.
func (b *book) keep(nodes map[ring.NodeID]Node) error {
	now := make(map[ring.NodeID]contact, len(nodes))
	for id, n := range nodes {
		now[id] = contact{GRPC: n.GRPC, Gossip: n.Gossip}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if maps.Equal(now, b.contacts) {
		return nil
	}
	text, err := json.MarshalIndent(now, "", " ")
	if err != nil {
		return err
	}
	if err := replaceFile(b.path, text); err != nil {
		return err
	}
	b.contacts = now
	return nil
}

// replaceFile makes text the content of a file: it is the old one or the new one, whenever the machine fails, and the new
// one once this returns.
func replaceFile(path string, text []byte) error {
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
