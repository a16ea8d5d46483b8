package kuadrant_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/storage"
)

// A door of a gateway asks its cluster over the wire, and a reservation of it is committed at a node's door, and the other way round.
func TestReservationsOverTheWire(t *testing.T) {
	n, err := node.Open(node.Config{Data: t.TempDir(), Durability: storage.Memory, ListenGRPC: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(client.Config{Servers: []string{n.GRPCAddr()}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close() //nolint:errcheck // the test is over
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, seconds := range []int{inMemory(), 31_536_000} {
		t.Run(fmt.Sprint(seconds), func(t *testing.T) {
			path := write(t, fmt.Sprintf("- {namespace: ns, max_value: 10, seconds: %d, conditions: [], variables: ['descriptors[0].user']}\n"+
				"- {namespace: ns, max_value: 20, seconds: %d, conditions: [\"descriptors[0].method == 'GET'\"], variables: []}\n", seconds, seconds))
			gateway, local := newRig(t, c, path), newRig(t, n, path)
			a, b := gateway.reserve(ok, 4, alice), local.reserve(ok, 3, alice)
			gateway.left(3, alice)
			local.commit(true, a, 1, alice)
			gateway.commit(true, b, 1, alice)
			gateway.commit(true, a, 1, alice)
			local.left(8, alice)
			gateway.report(3, alice)
			gateway.left(5, alice)
			gateway.check(ok, alice)
		})
	}
}

// inMemory is the length of a window whose holds their owner keeps in memory, in seconds. None of these ends soon.
func inMemory() int {
	seconds := 600
	for time.Now().Unix()%int64(seconds) > int64(seconds)-120 {
		seconds--
	}
	return seconds
}

// What was reserved in a stored window is known to the node that is started again, and settled there. Of a window in the memory of the node that is gone, it stays charged until the window ends.
func TestReservationsOutliveANode(t *testing.T) {
	for name, test := range map[string]struct {
		seconds int
		left    uint64
	}{"a stored window": {31_536_000, 8}, "a window in memory": {inMemory(), 4}} {
		t.Run(name, func(t *testing.T) { outlives(t, test.seconds, test.left) })
	}
}

func outlives(t *testing.T, seconds int, left uint64) {
	t.Helper()
	dir := t.TempDir()
	path := write(t, strings.Replace(one("10"), "31536000", strconv.Itoa(seconds), 1))
	var id string
	for start := range 2 {
		func() {
			n, err := node.Open(node.Config{Data: dir, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := n.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			r := newRig(t, n, path)
			if start == 0 {
				id = r.reserve(ok, 6, alice)
				return
			}
			r.left(4, alice)
			r.commit(true, id, 2, alice)
			r.left(left, alice)
		}()
	}
}
