package gossip

import (
	"bytes"
	"errors"
	"slices"

	"github.com/hashicorp/memberlist"

	"github.com/jeton-dev/jeton/ring/key"
)

// newKeyring is what memberlist seals and opens with.
func newKeyring(k *key.Key) (*memberlist.Keyring, error) {
	keys := k.GossipKeys()
	return memberlist.NewKeyring(keys, keys[0])
}

// followKey has memberlist use the secrets that are in force now: it opens with a new one before it seals with it, and seals with another
// one before it opens with a dropped one no more.
func (g *Gossip) followKey(ring *memberlist.Keyring) {
	keys := g.config.Key.GossipKeys()
	var all []error
	for _, k := range keys {
		all = append(all, ring.AddKey(k))
	}
	all = append(all, ring.UseKey(keys[0]))
	for _, old := range ring.GetKeys() {
		if !slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, old) }) {
			all = append(all, ring.RemoveKey(old))
		}
	}
	if err := errors.Join(all...); err != nil {
		g.logger.Error("gossip does not follow the cluster key: restart this node", "error", err)
	}
}
