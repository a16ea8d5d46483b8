package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage"
)

// long is how long a test waits for what has to happen: so long that only what never happens fails, on whatever machine.
const long = 10 * time.Minute

// seedVariable names the environment variable that has a random test run again as it did.
const seedVariable = "JETON_TEST_SEED"

// A rig is the nodes of one test: real ones, in this process, that reach one another over loopback and whose disks are
// crashable file systems in memory.
type rig struct {
	t      *testing.T
	seed   uint64
	limits string

	mu    sync.Mutex
	rng   *rand.Rand
	seats []*seat
	named int // nodes that were ever made
}

// newRig makes a rig. What it draws, it draws from a seed that it prints.
func newRig(t *testing.T) *rig {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
	}
	t.Logf("%s=%d", seedVariable, seed)
	path := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(path, []byte(limitsText), 0o600); err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, seed: seed, limits: path, rng: rand.New(rand.NewPCG(seed, 0))}
}

// intN draws a number below n.
func (r *rig) intN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n)
}

// between draws a time.
func (r *rig) between(least, most time.Duration) time.Duration {
	return least + time.Duration(r.intN(int(most-least)))
}

// source is a source of random numbers of its own.
func (r *rig) source() *rand.Rand {
	r.mu.Lock()
	defer r.mu.Unlock()
	return rand.New(rand.NewPCG(r.rng.Uint64(), r.rng.Uint64()))
}

// cut says whether the power was cut.
// seat makes a node, which does not run, on an empty disk.
func (r *rig) seat(change ...func(*Config)) *seat {
	r.t.Helper()
	r.named++
	s := &seat{rig: r, logs: &logbook{}, platter: vfs.NewCrashableMem()}
	free := freeAddresses(r.t, address4(r.t), 3)
	s.cfg = Config{
		Data: "/var/lib/jeton", Name: fmt.Sprintf("node-%d", r.named), Limits: r.limits, partitions: 53,
		ListenGRPC: free[0], ListenGossip: free[1], ListenRaft: free[2],
		Logger: slog.New(s.logs),
	}
	for _, c := range change {
		c(&s.cfg)
	}
	r.mu.Lock()
	r.seats = append(slices.Clip(r.seats), s)
	r.mu.Unlock()
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("node %s has logged:\n%s", s.cfg.Name, s.logs)
		}
	})
	r.t.Cleanup(s.end)
	return s
}

// founders are three nodes that found a cluster together.
func (r *rig) founders(change ...func(*Config)) []*seat {
	r.t.Helper()
	all := []*seat{r.seat(change...), r.seat(change...), r.seat(change...)}
	for _, s := range all {
		s.cfg.Expect = len(all)
		s.joins(all...)
	}
	return all
}

// joins has the node know the others' addresses.
// address4 is a loopback address that no other test uses.
func address4(t *testing.T) string {
	t.Helper()
	for range 100 {
		host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(255), 1+rand.IntN(254))
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", host+":0")
		if err == nil {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			return host
		}
	}
	t.Fatal("no loopback address is free")
	return ""
}

// freeAddresses are n addresses of a host that are free for TCP and UDP. Each is held until all are found, so that no two are the same.
func freeAddresses(t *testing.T, host string, n int) (free []string) {
	t.Helper()
	var held []io.Closer
	defer func() {
		for _, h := range held {
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	for range 100 {
		tcp, err := new(net.ListenConfig).Listen(t.Context(), "tcp", host+":0")
		if err != nil {
			continue
		}
		held = append(held, tcp)
		udp, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", tcp.Addr().String())
		if err != nil {
			continue
		}
		held = append(held, udp)
		if free = append(free, tcp.Addr().String()); len(free) == n {
			return free
		}
	}
	t.Fatal("too few ports are free")
	return nil
}

// start runs the node on its disk. What has become of it, opened tells. With a trap, the power is cut just before the n-th
// operation that counts.
// trap cuts the power just before the n-th operation from now that counts.
// cut cuts the node's power at this instant. A part of what was not synced is left, too.
// bury ends what is left of a node without power: first all that others hear of it, then the rest.
// powerCut cuts the power of all these nodes at the same instant, and ends them.
// stop ends the node in good order.
// end ends the node anyhow.
// running is the node, or nil while it does not run or has no power.
// wipe puts an empty disk into a node that does not run.
// restore puts another disk into a node that does not run.
// renew gives up an old copy, as the command does, with the power cut in the middle now and then.
// ready waits until nodes that were started take checks. One whose power is cut meanwhile is started again, and one that finds
// its disk to be an old copy takes a new one.
// comes waits until a node that was started takes checks.
// why says why a node does not take checks, or nil.
// started runs nodes and waits until they take checks.
// untouched fails the test if a disk was taken for an old copy: none of these was restored.
func (r *rig) untouched() {
	r.t.Helper()
	for _, s := range r.seats {
		if s.renewed > 0 {
			r.t.Errorf("node %s has given up its disk %d times, which was no old copy", s.cfg.Name, s.renewed)
		}
	}
}

// eventually waits until something holds.
func (r *rig) eventually(what string, holds func() bool) {
	r.t.Helper()
	tick, limit := time.NewTicker(10*time.Millisecond), time.After(long)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			r.t.Fatalf("it does not come true that %s", what)
		}
	}
}

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }

// state is what a node that runs sees of the cluster, or nil.
// arrived says whether some node sees n members, with every partition where it is to be, on so many replicas.
func arrived(members, replicas int, seen ...*seat) func() bool {
	return func() bool {
		for _, s := range seen {
			st := s.state()
			if st == nil || len(st.Nodes) != members || st.Table == nil {
				continue
			}
			done := true
			for _, place := range st.Table.Places {
				done = done && !place.Moving() && len(place.Replicas) == replicas
			}
			if done {
				return true
			}
		}
		return false
	}
}

// inMemory has a node keep registers in memory.
func inMemory(c *Config) { c.Durability = storage.Memory }

// A logbook keeps what a node has logged, but for what is of no interest.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *logbook) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *logbook) WithGroup(string) slog.Handler                    { return l }

func (l *logbook) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() > 1<<20 {
		return nil
	}
	fmt.Fprintf(&l.text, "  %s %s %s", r.Time.Format("05.000"), r.Level, r.Message)
	r.Attrs(func(a slog.Attr) bool {
		fmt.Fprintf(&l.text, " %s=%v", a.Key, a.Value)
		return true
	})
	l.text.WriteByte('\n')
	return nil
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
