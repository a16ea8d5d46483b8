package client

import (
	"context"
	"fmt"

	"github.com/jeton-dev/jeton/rpc/backup"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// Export asks for the limits, the overrides and the audit log in one file, which is JSON, for [Client.Import].
func (c *Client) Export(ctx context.Context) ([]byte, error) {
	m, err := operate(ctx, c, &pb.ExportClusterRequest{}, pb.AdminClient.ExportCluster)
	if err != nil {
		return nil, err
	}
	text, err := backup.Unpack(m.GetFile())
	if err != nil {
		return nil, fmt.Errorf("the export of the node cannot be read: %w", err)
	}
	return text, nil
}

// An Import is how Import puts a file in force.
type Import struct {
	// File is what [Client.Export] has returned. Required.
	File []byte
	// Remove says that limits and overrides that the file does not have are to be removed. Without it, overrides stay, and a file that leaves
	// out limits is refused.
	Remove bool
	// DryRun only says what would change.
	DryRun bool
}

// An Imported is what Import changed, or would change.
type Imported struct {
	Limits             Applied
	Overrides          []string // a line for each that changes or is left out, up to 1,000
	Set, Removed, Kept int      // how many overrides were set, removed, and stay though the file does not have them
}

// Import puts the limits and overrides of a file in force. All is checked before anything is changed. What is interrupted is completed by
// the same import again.
func (c *Client) Import(ctx context.Context, i Import) (Imported, error) {
	if len(i.File) > backup.MaxFile {
		return Imported{}, fmt.Errorf("%w: it has more than %d bytes", backup.ErrFile, backup.MaxFile)
	}
	packed, err := backup.Pack(i.File)
	if err != nil {
		return Imported{}, err
	}
	m, err := operate(ctx, c, &pb.ImportClusterRequest{File: packed, DryRun: i.DryRun, Remove: i.Remove}, pb.AdminClient.ImportCluster)
	if err != nil {
		return Imported{}, err
	}
	return Imported{
		Limits: appliedOf(m.GetLimits()), Overrides: m.GetOverrides(),
		Set: int(m.GetSet()), Removed: int(m.GetRemoved()), Kept: int(m.GetKept()),
	}, nil
}
