package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/storage"
)

// rejoinFile stands in a data directory that was made empty and is to be used in its old cluster only: it names the gossip
// addresses of that cluster's nodes, one a line. Without it, a node that is started without Join, as one that knows its
// cluster may be, would found another cluster, and admit beside the old one.
const rejoinFile = "REJOIN"

// Renew gives up what a data directory knows, which nobody may have open: the node that is opened on it next is a new one
// of the same cluster, whose addresses are kept.
func Renew(data string) error {
	known := cluster.Addresses(clusterDir(data))
	if err := os.WriteFile(filepath.Join(data, rejoinFile), []byte(strings.Join(known, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return storage.Renew(nil, data) // which syncs the directory before it deletes anything
}

// rejoin has a node on a data directory that was renewed join its old cluster and nothing else, if it is not told what to
// join.
func (c *Config) rejoin() error {
	text, err := os.ReadFile(filepath.Join(c.Data, rejoinFile))
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && len(c.Join) > 0:
		return nil
	case err != nil:
		return fmt.Errorf("data: %w", err)
	}
	c.Join, c.Expect = strings.Fields(string(text)), 0
	if len(c.Join) == 0 {
		return errors.New("join: the node has given up an old copy of its data and is to join its cluster again: name gossip addresses of other nodes")
	}
	return nil
}

// clusterDir is where a node keeps what it knows of its cluster.
func clusterDir(data string) string { return filepath.Join(data, "cluster") }
