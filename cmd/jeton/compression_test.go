package main

import (
	"testing"

	"google.golang.org/grpc/encoding"
)

// Whatever decompressors the libraries of this program register, every gRPC server in it would use. rpc refuses gzip, which the
// exporter of traces registers; another one needs the same.
func TestNoOtherCompressors(t *testing.T) {
	if encoding.GetCompressor("gzip") == nil {
		t.Error("gzip is no longer registered: rpc need not refuse it any more")
	}
	for _, name := range []string{"br", "deflate", "lz4", "snappy", "x-snappy-framed", "zlib", "zstd"} {
		if encoding.GetCompressor(name) != nil {
			t.Errorf("%s is registered: rpc must refuse it, see rpc/uncompressed.go", name)
		}
	}
}
