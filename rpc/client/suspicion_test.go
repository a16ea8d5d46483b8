package client

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/jeton-dev/jeton/actor/limit"
)

// TestSilence asks who takes connections and says nothing. That may be a wrong port, unless a node has answered there before, or
// the address is from the table of the node that the client is in: then it is frozen.
func TestSilence(t *testing.T) {
	for name, test := range map[string]struct {
		spoke, never, told bool
	}{
		"nobody has answered there":  {told: true},
		"a node has answered there":  {spoke: true},
		"the address is of a table":  {never: true},
		"the node answered this one": {spoke: true, never: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &node{address: "192.0.2.1:7700", dial: func(context.Context, string) (net.Conn, error) {
					conn, other := net.Pipe()
					go func() {
						for buffer := make([]byte, 512); ; {
							if _, err := other.Read(buffer); err != nil {
								return
							}
						}
					}()
					return conn, nil
				}}
				n.suspicion.never = test.never
				if test.spoke {
					n.suspicion.clear()
				}
				n.suspect(t.Context(), limit.ErrUnavailable)
				if wrong := n.suspicion.found.Load(); (wrong != nil) != test.told {
					t.Errorf("told: %v", wrong)
				}
			})
		})
	}
}
