package rpc

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/backup"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// ExportCluster implements jeton.v1.Admin.
func (a admin) ExportCluster(ctx context.Context, _ *pb.ExportClusterRequest) (*pb.ExportClusterResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	if !a.cluster.State().Founded() {
		return nil, errNotHeard
	}
	done, err := a.files.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	f := &backup.File{
		Exported: backup.Exported{At: time.Now().UTC().Round(time.Second), By: access.IdentityOf(ctx).Who, Node: a.cluster.Name()},
		Content:  a.content(),
	}
	text, err := f.Encode()
	if err != nil {
		return nil, err
	}
	packed, err := backup.Pack(text)
	if err != nil {
		return nil, err
	}
	if len(text) > backup.MaxFile || len(packed) > transport.MaxMessage-1<<10 {
		return nil, status.Errorf(codes.FailedPrecondition, "the export has %d bytes, and %d compressed, more than fit into a message: there are too many overrides",
			len(text), len(packed))
	}
	return &pb.ExportClusterResponse{File: packed}, nil
}

// errNotHeard is about a node that does not know yet what its cluster has agreed on.
var errNotHeard = status.Error(codes.Unavailable, "this node has not received the limits yet: retry, or ask another node")

// content is what operators have agreed on, of one moment.
func (a admin) content() backup.Content {
	s := a.cluster.State()
	c := backup.Content{
		Cluster: s.Cluster.String(), Overrides: []backup.Override{},
		Limits: backup.Limits{Version: s.LimitsVersion, Document: backup.Lines(s.Limits)},
	}
	for _, o := range a.cluster.OverridesIn(s) {
		c.Overrides = append(c.Overrides, backup.Override{Limit: o.Limit, Key: o.Key, Says: o.Says, Until: o.Until, At: o.At, Who: o.Who})
	}
	log := a.cluster.AuditIn(s, 0)
	c.Audit = backup.Audit{Dropped: log.Dropped, Entries: []backup.Entry{}}
	for _, e := range log.Entries {
		c.Audit.Entries = append(c.Audit.Entries, backup.Entry(e))
	}
	return c
}
