package rpc

import (
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/rpc/transport"
)

// Tables tells what a node knows of its cluster: the newest table, nil before there is one, and a channel that is closed
// when there is a newer one. It is cheap, and safe for concurrent use.
type Tables func() (*pb.View, <-chan struct{})

// clusterService answers jeton.v1.Cluster.
type clusterService struct {
	pb.UnimplementedClusterServer
	tables   Tables           // nil: there is no cluster
	activity *activity.Source // nil: what gateways tell is not kept
	last     atomic.Pointer[encoded]
}

// encoded is a table as it is sent: every watcher gets the same message.
type encoded struct {
	view    *pb.View
	message *pb.WatchResponse
}

// Watch implements jeton.v1.Cluster: it sends the table at once, and again whenever it has changed. A client that is slow
// misses tables, but never the newest one. It ends with the context of the stream, which does when the node stops.
func (s *clusterService) Watch(m *pb.WatchRequest, stream grpc.ServerStreamingServer[pb.WatchResponse]) error {
	if s.tables == nil {
		return s.UnimplementedClusterServer.Watch(m, stream)
	}
	var sent *pb.View
	for {
		v, changed := s.tables()
		if v != nil && v != sent {
			if err := stream.Send(s.encode(v)); err != nil {
				return err
			}
			sent = v
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return transport.ErrStopping // or the client has left, and gets no error
		}
	}
}

func (s *clusterService) encode(v *pb.View) *pb.WatchResponse {
	last := s.last.Load()
	if last == nil || last.view != v {
		last = &encoded{view: v, message: pb.EncodeView(v)}
		s.last.Store(last)
	}
	return last.message
}
