package gossip

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
)

// A Contact is where a node was last: its gRPC and gossip addresses.
type Contact struct {
	GRPC   string `json:"grpc"`
	Gossip string `json:"gossip"`
}

// A AddressBook keeps the members' addresses on disk. After a start they are needed before raft runs, and so before anything
// that was agreed on is known for sure; --join may name nodes that are long gone. Whatever is in it is only tried.
type AddressBook struct {
	folder folder.Folder

	mu       sync.Mutex
	contacts map[ring.NodeID]Contact
}

// OpenAddressBook reads what was kept. A book that is missing or cannot be read is empty: gossip finds nodes without it.
func OpenAddressBook(in folder.Folder) *AddressBook {
	b := &AddressBook{folder: in, contacts: map[ring.NodeID]Contact{}}
	text, err := in.Read(bookFile)
	if err != nil || json.Unmarshal(text, &b.contacts) != nil {
		b.contacts = map[ring.NodeID]Contact{}
	}
	return b
}

// bookFile is the file with a book.
const bookFile = "nodes.json"

// Addresses are the gossip addresses of the members that a node has written down in its directory, in order; none if it
// has not. The file system is the operating system's if fs is nil.
func Addresses(fs vfs.FS, dir string) (gossip []string) {
	for _, at := range OpenAddressBook(folder.Of(fs, dir)).contacts {
		gossip = append(gossip, at.Gossip)
	}
	slices.Sort(gossip)
	return gossip
}

// Look is what is kept. It is not to be changed.
func (b *AddressBook) Look() map[ring.NodeID]Contact {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.contacts
}

// Keep writes the members' addresses down if they are others than before.
func (b *AddressBook) Keep(nodes map[ring.NodeID]agreed.Node) error {
	now := make(map[ring.NodeID]Contact, len(nodes))
	for id, n := range nodes {
		now[id] = Contact{GRPC: n.GRPC, Gossip: n.Gossip}
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
	if err := b.folder.Replace(bookFile, text); err != nil {
		return err
	}
	b.contacts = now
	return nil
}
