package client_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/client"
)

// Whoever says how to connect is asked for every connection, with the address as it was given.
func TestDial(t *testing.T) {
	n := fakenodes.StartSpec(t, fakenodes.Spec{})
	var dialed atomic.Int64
	c := connect(t, client.Config{
		Server: "beyond the sea:7700", Timeout: time.Minute,
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			if address != "beyond the sea:7700" {
				t.Errorf("dialed %q", address)
			}
			dialed.Add(1)
			return new(net.Dialer).DialContext(ctx, "tcp", n.Address)
		},
	})
	if d, err := c.Check(t.Context(), check("1")); err != nil || !d.Allowed {
		t.Errorf("got %+v and %v", d, err)
	}
	if dialed.Load() == 0 {
		t.Error("nothing was dialed")
	}
}
