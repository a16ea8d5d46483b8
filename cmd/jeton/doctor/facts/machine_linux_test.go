package facts

import (
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cmd/node"
)

// TestOfThisMachine looks at the machine that runs the test, for a node with an address that is taken.
func TestOfThisMachine(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nothing was said over it
	dir := t.TempDir()
	m := OfMachine(t.Context(), MachineConfig{Node: node.Config{
		Data: filepath.Join(dir, "not", "made"), ListenGRPC: taken.Addr().String(), ListenHTTP: "192.0.2.1:7702", Expect: 2, Durability: "memory",
	}})
	if !strings.Contains(m.Wrong, "expect") && !strings.Contains(m.Wrong, "join") {
		t.Errorf("options: %q", m.Wrong)
	}
	if m.Folder.Made != dir || m.Folder.Format != 0 || m.Folder.Wrong != "" || !m.InMemory || m.User == "" {
		t.Errorf("folder: %+v", m.Folder)
	}
	if m.Disk.Mount.Type == "" || m.Disk.Free == 0 || m.Disk.Fsync.Writes == 0 || m.Files.Limit == 0 || m.Processors.Count == 0 {
		t.Errorf("got %+v", m)
	}
	if len(m.Ports) != 2 {
		t.Fatalf("ports: %+v", m.Ports)
	}
	if p := m.Ports[0]; !p.Taken || p.Holder != os.Getpid() || p.Program == "" || p.Wrong != "" {
		t.Errorf("a port that is taken: %+v", p)
	}
	if p := m.Ports[1]; p.Taken || !strings.Contains(p.Wrong, "cannot assign") {
		t.Errorf("an address of another machine: %+v", p)
	}
	empty(t, dir)
}

// TestJoined resolves the hosts of --join, and leaves out what the node refuses.
func TestJoined(t *testing.T) {
	all := joinedBy(t.Context(), &node.Config{Join: []string{"127.0.0.1:7701", "nohost", "nowhere.invalid:7701"}})
	if len(all) != 2 || all[0] != (Joined{Address: "127.0.0.1:7701"}) || all[1].Wrong == "" {
		t.Errorf("got %+v", all)
	}
}

// TestMemoryIsNoDisk sees that a folder is in memory.
func TestMemoryIsNoDisk(t *testing.T) {
	if m := mountOf("/dev/shm"); m.Type != "tmpfs" {
		t.Errorf("got %+v", m)
	}
}

func TestOpenFiles(t *testing.T) {
	if n := openFiles("Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n"); n != 4096 {
		t.Errorf("got %d", n)
	}
	if n := openFiles("nothing"); n != 0 {
		t.Errorf("got %d", n)
	}
	if f := filesOf(os.Getpid()); f.Limit == 0 || f.Open == 0 || f.Unknown != "" {
		t.Errorf("of this process: %+v", f)
	}
}

func TestGroups(t *testing.T) {
	for text, want := range map[string]float64{"150000 100000\n": 1.5, "max 100000": 0, "": 0, "5": 0, "1 0": 0} {
		if got := quotaOf(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if path, ok := groupIn("12:cpu:/a\n0::/system.slice/jeton.service\n"); !ok || path != "/system.slice/jeton.service" {
		t.Errorf("%q %v", path, ok)
	}
	if _, ok := groupIn("12:cpu:/a\n"); ok {
		t.Error("a group of version 1 is taken for one of version 2")
	}
	if n, ok := counted("usage_usec 7\nnr_periods 100\nnr_throttled 12\n", "nr_throttled"); n != 12 || !ok {
		t.Errorf("%d %v", n, ok)
	}
}

func TestInodes(t *testing.T) {
	found := map[string]socket{}
	inodes(strings.Split(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1E14 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12345 1 0
   1: 0100007F:1E15 0100007F:1E14 01 00000000:00000000 00:00000000 00000000     0        0 54321 1 0
   2: 00000000000000000000000001000000:1E14 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 67890 1 0
   broken
   3: 0100007F00:1E14 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11111 1 0`, "\n"), "tcp", found)
	want := map[string]socket{
		"12345": {"tcp", netip.MustParseAddrPort("127.0.0.1:7700")},
		"67890": {"tcp", netip.MustParseAddrPort("[::1]:7700")},
	}
	if !maps.Equal(found, want) {
		t.Errorf("got %v", found)
	}
}

// Nodes may listen at the same port of different addresses: each port is its own node's.
func TestSamePortOfOtherAddresses(t *testing.T) {
	const port = 7700
	holders := map[socket]holder{
		{"tcp", netip.AddrPortFrom(netip.MustParseAddr("10.9.0.1"), port)}: {1, "first"},
		{"tcp", netip.AddrPortFrom(netip.MustParseAddr("10.9.0.2"), port)}: {2, "second"},
		{"udp", netip.AddrPortFrom(netip.MustParseAddr("10.9.0.1"), port)}: {3, "third"},
		{"tcp", netip.AddrPortFrom(netip.IPv6Unspecified(), 9)}:            {4, "fourth"},
	}
	for _, test := range []struct {
		host    string
		port    int
		running int
		want    int
	}{
		{"10.9.0.1", port, 2, 1},
		{"10.9.0.2", port, 1, 2},
		{"10.9.0.3", port, 1, 0},
		{"", port, 2, 2},
		{"0.0.0.0", port, 1, 1},
		{"10.9.0.7", 9, 0, 4},
	} {
		got := holderAt(holders, test.running, "tcp", resolved(t.Context(), test.host), test.port)
		if got.pid != test.want {
			t.Errorf("%s:%d is held by process %d, want %d", test.host, test.port, got.pid, test.want)
		}
	}
}

func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "LOCK")
	for range 2 {
		if pid, unknown := holderOf(path); pid != 0 || unknown != "" {
			t.Errorf("%d %q", pid, unknown)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
