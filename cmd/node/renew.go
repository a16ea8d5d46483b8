package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/storage/datadir"
)

// rejoinFile stands in a data directory that was made empty and is to be used in its old cluster only: it names the gossip
// addresses of that cluster's nodes, one a line. Without it, a node that is started without Join, as one that knows its
// cluster may be, would found another cluster, and admit beside the old one.
const rejoinFile = "REJOIN"

// Renew gives up what a data directory holds, which no process may have open: the node that is opened on it next is a new one
// of the same cluster, whose addresses are kept. The file system is the operating system's if fs is nil.
func Renew(fs vfs.FS, data string) error {
	if fs == nil {
		fs = vfs.Default
	}
	if err := writeRejoin(fs, data, gossip.Addresses(fs, clusterDir(data))); err != nil {
		return fmt.Errorf("data: %w", err)
	}
	return datadir.Renew(fs, data) // which syncs the directory, and with it the name of that file, before it deletes anything
}

// writeRejoin writes the addresses down, whole or not at all: a file without them would be worse than none.
func writeRejoin(fs vfs.FS, data string, known []string) error {
	path := fs.PathJoin(data, rejoinFile)
	if _, err := fs.Stat(path); err == nil && len(known) == 0 {
		return nil // those of an earlier renewal are better than none
	}
	file, err := fs.Create(path+".new", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write([]byte(strings.Join(known, "\n") + "\n"))
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return fs.Rename(path+".new", path)
}

// applyRejoin has a node on a data directory that was renewed join its old cluster and found no other one. It joins at the addresses that the
// cluster had, unless it is told others.
func (c *Config) applyRejoin() error {
	var text []byte
	file, err := c.FS.Open(c.FS.PathJoin(c.Data, rejoinFile))
	if err == nil {
		text, err = io.ReadAll(file)
		err = errors.Join(err, file.Close())
	}
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil
	case err != nil:
		return fmt.Errorf("data: %w", err)
	}
	if c.Expect = 0; len(c.Join) == 0 {
		c.Join = strings.Fields(string(text))
	}
	if len(c.Join) == 0 {
		return errors.New("join: the node has deleted an old copy of its data and must rejoin its cluster: name gossip addresses of other nodes")
	}
	return nil
}

// clusterDir is where a node keeps what it knows of its cluster.
func clusterDir(data string) string { return filepath.Join(data, "cluster") }
