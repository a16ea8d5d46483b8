package cluster

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// A contact is where a node was last: its gRPC and gossip addresses.
type contact struct {
	GRPC   string `json:"grpc"`
	Gossip string `json:"gossip"`
}

// A book keeps the members' addresses on disk. After a start they are needed before raft runs, and so before anything
// that was agreed on is known for sure; --join may name nodes that are long gone. Whatever is in it is only tried.
type book struct {
	folder folder

	mu       sync.Mutex
	contacts map[ring.NodeID]contact
}

// openBook reads what was kept. A book that is missing or cannot be read is empty: gossip finds nodes without it.
func openBook(in folder) *book {
	b := &book{folder: in, contacts: map[ring.NodeID]contact{}}
	text, err := in.read(bookFile)
	if err != nil || json.Unmarshal(text, &b.contacts) != nil {
		b.contacts = map[ring.NodeID]contact{}
	}
	return b
}

// bookFile is the file with a book.
const bookFile = "nodes.json"

// Addresses are the gossip addresses of the members that a node has written down in its directory, in order; none if it
// has not. The file system is the operating system's if fs is nil.
func Addresses(fs vfs.FS, dir string) (gossip []string) {
	for _, at := range openBook(folderOf(fs, dir)).contacts {
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
func (b *book) keep(nodes map[ring.NodeID]agreed.Node) error {
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
	if err := b.folder.replace(bookFile, text); err != nil {
		return err
	}
	b.contacts = now
	return nil
}
