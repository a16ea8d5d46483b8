package node

import (
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// TestJoinAtAWrongPort: a node that is told to join at the ports of gRPC, HTTP and raft says so, and what to name instead.
func TestJoinAtAWrongPort(t *testing.T) {
	open := func(cfg Config) *Node {
		cfg.Data, cfg.ListenGRPC, cfg.ListenHTTP = t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
		cfg.ListenGossip, cfg.ListenRaft = "127.0.0.1:0", "127.0.0.1:0"
		n, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close(t.Context()) }) //nolint:errcheck // nothing is kept
		return n
	}
	first := open(Config{Name: "first", Logger: slog.New(slog.DiscardHandler)})
	for speaks, address := range map[string]string{"gRPC": first.GRPCAddr(), "HTTP": first.HTTPAddr()} {
		lines := make(logged, 1000)
		open(Config{Name: "lost", Join: []string{address}, Logger: slog.New(slog.NewTextHandler(lines, nil))})
		late := time.After(time.Minute)
		for told := false; !told; {
			select {
			case line := <-lines:
				told = strings.Contains(line, "an address of --join does not speak gossip: name addresses of --listen-gossip") &&
					strings.Contains(line, "address="+address) && strings.Contains(line, "speaks="+speaks)
			case <-late:
				t.Fatalf("%s is not told to speak %s", address, speaks)
			}
		}
	}
	if _, _, err := net.SplitHostPort(first.GossipAddr()); err != nil || spoken(t.Context(), first.GossipAddr()) != "" {
		t.Errorf("the port of gossip at %s is taken for another", first.GossipAddr())
	}
}

// logged are lines of a log.
type logged chan string

func (l logged) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default: // nobody reads any more
	}
	return len(p), nil
}
