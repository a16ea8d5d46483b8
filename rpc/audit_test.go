package rpc

import (
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/rpc/access"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A reset that another node forwards is noted there. An operator cannot hide behind the marks of one.
func TestResetsOfNodes(t *testing.T) {
	routed, forwarded := []string{pb.MarkRouted, "1"}, []string{pb.MarkRouted, "1", pb.MarkForwarded, "1"}
	for _, tt := range []struct {
		what  string
		marks []string
		by    access.Identity
		want  bool
	}{
		{"an operator", nil, access.Identity{Who: "token ann"}, false},
		{"a client with the key", routed, access.Identity{Key: true}, false},
		{"a node with the key", forwarded, access.Identity{Key: true}, true},
		{"a node without a key", forwarded, access.Identity{None: true}, true},
		{"an operator who says that it is a node", forwarded, access.Identity{Who: "token ann"}, false},
	} {
		ctx := withMarks(metadata.NewIncomingContext(t.Context(), metadata.Pairs(tt.marks...)))
		if got := ofNode(ctx, tt.by); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.what, got, tt.want)
		}
	}
}
