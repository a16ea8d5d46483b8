package joining

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
)

// Look is which node the files of a cluster belong to, and which cluster, in hexadecimal, that node is in as far as they tell; empty for none. It
// changes nothing.
func Look(in folder.Folder) (id ring.NodeID, cluster string, err error) {
	text, err := in.Read(recordFile)
	if errors.Is(err, os.ErrNotExist) {
		return id, "", nil
	}
	var f founding
	if err == nil {
		err = json.Unmarshal(text, &f)
	}
	switch {
	case err != nil:
		return id, "", err
	case f.Member != nil:
		cluster = f.Member.String()
	case f.Decided != nil:
		cluster = f.Decided.Cluster.String()
	}
	return f.ID, cluster, nil
}
