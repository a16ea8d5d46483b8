package transport

import (
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
)

// errCompressed refuses a compressed message.
var errCompressed = errors.New("this node does not support compressed messages: send them uncompressed")

// uncompressed takes the place of a decompressor that grpc finds by itself if any library of the program has registered one: the
// exporter of traces does. Eight KiB can be eight MiB when they are read, and the bounds of listeners count what arrives.
type uncompressed struct{}

// Do implements grpc.Decompressor.
func (uncompressed) Do(io.Reader) ([]byte, error) { return nil, errCompressed }

// Type implements grpc.Decompressor.
func (uncompressed) Type() string { return gzip.Name }

// TakeUncompressed has a server refuse compressed messages, whatever is registered.
func TakeUncompressed() grpc.ServerOption {
	return grpc.RPCDecompressor(uncompressed{}) //nolint:staticcheck // deprecated in favor of the registry, which is the whole program's
}
