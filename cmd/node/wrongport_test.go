package node

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
)

// TestJoinAtAWrongPort: a node that is told to join at the ports of gRPC, HTTP and raft says so, and what to name instead, whether there
// is a cluster key or not; the key of the nodes is the same, and is not blamed.
func TestJoinAtAWrongPort(t *testing.T) {
	keyFile := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(keyFile, []byte("a secret that is not guessed"), 0o600); err != nil {
		t.Fatal(err)
	}
	ca := authority.New(t, "ours")
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca)
	for _, tt := range []struct {
		with  Config
		ports map[string]string
	}{
		{Config{}, map[string]string{"grpc": "gRPC", "http": "HTTP"}},
		{Config{ClusterKeyFile: keyFile}, map[string]string{"grpc": "gRPC", "http": "HTTP", "raft": "TLS"}},
		{
			Config{ClusterKeyFile: keyFile, TLSCert: files.Cert, TLSKey: files.Key, TLSCA: files.CA},
			map[string]string{"grpc": "gRPC", "http": "HTTPS", "raft": "TLS"},
		},
	} {
		open := func(cfg Config) *Node {
			cfg.ClusterKeyFile, cfg.TLSCert, cfg.TLSKey, cfg.TLSCA = tt.with.ClusterKeyFile, tt.with.TLSCert, tt.with.TLSKey, tt.with.TLSCA
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
		addresses := map[string]string{"grpc": first.GRPCAddr(), "http": first.HTTPAddr(), "raft": first.member.cluster.RaftAddress()}
		for port, speaks := range tt.ports {
			address, lines := addresses[port], make(logged, 1000)
			open(Config{Name: "lost", Join: []string{address}, Logger: slog.New(slog.NewTextHandler(lines, nil))})
			late := time.After(time.Minute)
			for told := false; !told; {
				select {
				case line := <-lines:
					told = strings.Contains(line, "a --join address does not speak gossip: give the --listen-gossip address") &&
						strings.Contains(line, "address="+address) && strings.Contains(line, "speaks="+speaks+"\n")
					if strings.Contains(line, "cluster key") {
						t.Errorf("the port of %s: %s", port, line)
					}
				case <-late:
					t.Fatalf("the port of %s at %s is not told to speak %s", port, address, speaks)
				}
			}
		}
		if _, _, err := net.SplitHostPort(first.GossipAddr()); err != nil || protocolAt(t.Context(), first.GossipAddr()) != "" {
			t.Errorf("the port of gossip at %s is taken for another", first.GossipAddr())
		}
	}
}

// logged are lines of a log.
type logged chan string

func (l logged) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default: // the test reads no more
	}
	return len(p), nil
}
