package node

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/rpc/credentials"
)

// localTokenFile is the file in the data directory with the token of a node that was given neither a key nor tokens. A process
// that may read it may change something over HTTP: not every process on the machine, nor what can be talked into sending a
// request to localhost.
const localTokenFile = "token"

// localTokens are those of the data directory, made at the node's first start. They are for a node on loopback that has no
// others; nil for the rest: --insecure trusts every client that reaches the node, and a node that keeps nothing on disk has no place
// for them.
func (n *Node) localTokens() (*credentials.Tokens, error) {
	if n.secrets.tokens != nil || n.cfg.FS != vfs.Default || n.httpListener == nil || isRemote(n.httpListener) {
		return n.secrets.tokens, nil
	}
	path, err := filepath.Abs(filepath.Join(n.cfg.Data, localTokenFile))
	if err != nil {
		return nil, err
	}
	if err := makeToken(path); err != nil {
		return nil, fmt.Errorf("token of the data directory: %w", err)
	}
	return credentials.NewTokens(credentials.TokensConfig{File: path, Local: true, Insecure: n.cfg.Insecure, Registerer: n.metrics})
}

// makeToken writes a new token to a file, unless the file is there. One that a crash has left empty is written again.
func makeToken(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(path, []byte(rand.Text()+"\n"), 0o600)
}
