package peers

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// A countedReplica counts the ledgers that are written at it.
type countedReplica struct {
	actor.Replica

	writes atomic.Int64
}

func (c *countedReplica) Reserve(rs []reg.Reservation, done func([]reg.Answer, error)) {
	for i := range rs {
		if len(rs[i].Ledger) > 0 {
			c.writes.Add(1)
		}
	}
	c.Replica.Reserve(rs, done)
}

// A countedFS counts the bytes that are written to files.
type countedFS struct {
	vfs.FS

	written *atomic.Int64
}

type countedFile struct {
	vfs.File

	written *atomic.Int64
}

func (c countedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.Create(name, category)
	return countedFile{f, c.written}, err
}

func (c countedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.OpenReadWrite(name, category, opts...)
	return countedFile{f, c.written}, err
}

func (c countedFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.ReuseForWrite(from, to, category)
	return countedFile{f, c.written}, err
}

func (f countedFile) Write(b []byte) (int, error) {
	f.written.Add(int64(len(b)))
	return f.File.Write(b)
}

func (f countedFile) WriteAt(b []byte, at int64) (int, error) {
	f.written.Add(int64(len(b)))
	return f.File.WriteAt(b, at)
}

// diskStore is a store on the disk of this machine.
func diskStore(tb testing.TB, now func() int64, written *atomic.Int64) *storage.Store {
	tb.Helper()
	s, err := storage.Open(storage.Config{Dir: tb.TempDir(), FS: countedFS{vfs.Default, written}, Now: now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	if err := s.Found(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s
}

// A budgetRig is an owner of budgets, with one replica on its own disk and two at other nodes of this process.
type budgetRig struct {
	owner  *actor.System
	client *Client
	nodes  []*station
	local  *countedReplica

	written atomic.Int64 // bytes, to the files of all three
}

// startBudget starts a rig; with plain, no differences are sent.
func startBudget(tb testing.TB, document string, plain bool) *budgetRig {
	tb.Helper()
	doc, err := limit.ParseDocument([]byte(document))
	if err != nil {
		tb.Fatal(err)
	}
	now, k := clock.New().Now, newKey(tb)
	rig := &budgetRig{}
	rig.local = &countedReplica{Replica: diskStore(tb, now, &rig.written)}
	rig.client, err = NewClient(ClientConfig{ID: ring.NodeID{99}, Key: k, Now: now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(rig.client.Close)
	replicas := []actor.Replica{rig.local}
	for i := range 2 {
		cfg := stationConfig{id: byte(i + 1), key: k, store: diskStore(tb, now, &rig.written)}
		if plain {
			cfg.intercept = older
		}
		n := startStation(tb, cfg)
		rig.nodes, replicas = append(rig.nodes, n), append(replicas, connectTo(tb, rig.client, n.address))
	}
	rig.owner, err = actor.New(actor.Config{
		Replicas: replicas, Limits: func() *limit.Document { return doc }, Now: now, Node: "owner", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(rig.owner.Close)
	return rig
}

func (rig *budgetRig) hold(tb testing.TB) limit.Hold {
	tb.Helper()
	d, err := rig.owner.Check(tb.Context(), limit.Request{Key: "org:acme", Limits: []limit.Ref{limit.Named("budget")}, Cost: 1500, Hold: time.Minute})
	if err != nil || d.Hold == nil {
		tb.Errorf("no hold: %+v, %v", d, err)
		return limit.Hold{}
	}
	return *d.Hold
}

func (rig *budgetRig) settle(tb testing.TB, h limit.Hold, used int64) {
	tb.Helper()
	if got, err := rig.owner.Settle(tb.Context(), limit.Settlement{Hold: h, Used: used}); err != nil || got.Limits[0].Charged != used {
		tb.Errorf("settled for %d: %+v, %v", used, got, err)
	}
}

// sent is how many bytes of ledgers went to other nodes.
func (rig *budgetRig) sent(tb testing.TB) (sum int) {
	tb.Helper()
	for _, n := range rig.nodes {
		series := rig.client.metrics.of(n.address)
		sum += valueOf(tb, series.whole) + valueOf(tb, series.differences)
	}
	return sum
}

// processorTime is that of this process so far.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkHoldsOfOneKey settles one of 500 open holds of one key and takes another one, so many at the same time, with an owner and three
// replicas in this process: as differences, and whole as nodes of before take them.
func BenchmarkHoldsOfOneKey(b *testing.B) {
	for name, text := range map[string]string{
		"month":  "limits:\n  budget: {algorithm: fixed-window, limit: 1000000000000, per: month, hold: 1h}\n",
		"bucket": "limits:\n  budget: {capacity: 1000000000, refill: 1000/s, hold: 1h}\n",
	} {
		for _, at := range []int{1, 50, 500} {
			for _, as := range []string{"whole", "differences"} {
				b.Run(fmt.Sprintf("%s/at-once=%d/%s", name, at, as), func(b *testing.B) {
					benchmarkHolds(b, startBudget(b, text, as == "whole"), at)
				})
			}
		}
	}
}

func benchmarkHolds(b *testing.B, rig *budgetRig, at int) {
	b.Helper()
	const open = 500
	holds := make(chan limit.Hold, open)
	var wg sync.WaitGroup
	for range open {
		wg.Go(func() { holds <- rig.hold(b) })
	}
	wg.Wait()
	turns := make(chan struct{})
	for range at {
		wg.Go(func() {
			for range turns {
				rig.settle(b, <-holds, 1234)
				holds <- rig.hold(b)
			}
		})
	}
	sent, writes, disk, cpu := rig.sent(b), rig.local.writes.Load(), rig.written.Load(), processorTime(b)
	for b.Loop() {
		turns <- struct{}{}
	}
	close(turns)
	wg.Wait()
	cpu = processorTime(b) - cpu
	n := float64(rig.local.writes.Load() - writes)
	b.ReportMetric(n/float64(b.N), "writes/op")
	b.ReportMetric(float64(rig.sent(b)-sent)/2/n, "wire-B/write")
	b.ReportMetric(float64(rig.written.Load()-disk)/3/n, "disk-B/write")
	b.ReportMetric(float64(cpu.Microseconds())/n, "cpu-µs/write")
}
