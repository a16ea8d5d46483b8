package facts

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
	"github.com/jeton-dev/jeton/ring/cluster/joining"
	"github.com/jeton-dev/jeton/storage/datadir"
)

// A Folder is a node's data folder.
type Folder struct {
	Path string `json:"path"`
	// Made is the folder itself, or, where it is not there yet, the one above it in which it will be made.
	Made     string `json:"made"`
	Format   int    `json:"format"` // 0: nothing is in it yet
	Newest   int    `json:"newest"` // that this program reads
	Wrong    string `json:"wrong,omitempty"`
	Renewing bool   `json:"renewing,omitempty"`
	// Node and Cluster are ids, as the folder tells them; empty where it does not.
	Node    string `json:"node,omitempty"`
	Cluster string `json:"cluster,omitempty"`
	// Holder is the process that has it open; 0: none. LockUnknown is why that is not known.
	Holder      int    `json:"holder,omitempty"`
	LockUnknown string `json:"lock_unknown,omitempty"`

	owner owner
}

func folderAt(path string) Folder {
	f := Folder{Path: path, Made: path}
	if whole, err := filepath.Abs(path); err == nil {
		f.Made = whole
	}
	info, err := os.Stat(f.Made)
	for errors.Is(err, fs.ErrNotExist) && filepath.Dir(f.Made) != f.Made {
		f.Made = filepath.Dir(f.Made)
		info, err = os.Stat(f.Made)
	}
	switch {
	case err != nil:
		f.Wrong = err.Error()
		return f
	case !info.IsDir():
		f.Wrong = f.Made + " is no folder"
		return f
	}
	f.owner = ownerOf(info)
	seen, err := datadir.Look(nil, path)
	f.Format, f.Newest, f.Renewing = seen.Format, seen.Newest, seen.Renewing
	if err != nil {
		f.Wrong = err.Error()
		return f
	}
	if f.Format == 0 {
		return f
	}
	f.Holder, f.LockUnknown = holderOf(filepath.Join(path, datadir.RegistersDir, "LOCK"))
	id, cluster, err := joining.Look(folder.Of(nil, filepath.Join(path, datadir.ClusterDir)))
	if err == nil && id != (ring.NodeID{}) {
		f.Node, f.Cluster = id.String(), cluster
	}
	return f
}
