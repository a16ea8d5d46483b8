package peers

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

var _ Registers = (*storage.Store)(nil)

// openStore opens a store on a disk in memory, which is closed with the test.
func openStore(tb testing.TB) *storage.Store {
	tb.Helper()
	s, err := storage.Open(storage.Config{
		Dir: "/data", FS: vfs.NewMem(), Now: atMidday, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// startStores starts so many nodes with stores, of which the first ones found a cluster.
func startStores(tb testing.TB, nodes, founders int) (stores []*storage.Store, stations []*station) {
	tb.Helper()
	k := newKey(tb)
	for i := range nodes {
		s := openStore(tb)
		if i < founders {
			if err := s.Found(tb.Context()); err != nil {
				tb.Fatal(err)
			}
		}
		stores = append(stores, s)
		stations = append(stations, startStation(tb, stationConfig{id: byte(i + 1), key: k, store: s}))
	}
	return stores, stations
}

// TestMove moves a partition from three nodes to three others, by calls alone, while owners reserve at random majorities: what a
// majority has accepted is accepted by no majority of the new ones, and what is free is.
func TestMove(t *testing.T) {
	stores, stations := startStores(t, 5, 3)
	driver := newTestClient(t, ClientConfig{ID: ring.NodeID{77}, Key: newKey(t)})
	addresses := make([]string, len(stations))
	replicas := make([]actor.Replica, len(stations))
	for i, n := range stations {
		addresses[i] = n.address
		replicas[i] = connectTo(t, driver, n.address)
	}
	random := rand.New(rand.NewPCG(3, 4))
	var accepted []reg.Reservation
	reserveSome := func(n int) {
		for range n {
			rs := movedReservations(len(accepted), 1+random.IntN(40))
			for _, at := range random.Perm(3)[:2] {
				if o := reserve(t, replicas[at], rs...); o.err != nil || o.answers[len(rs)-1].Verdict != reg.Accepted {
					t.Fatalf("got %+v", o)
				}
			}
			accepted = append(accepted, rs...)
		}
	}
	next := []int{2, 3, 4}
	reserveSome(50)
	for _, at := range next {
		if err := driver.Copy(t.Context(), addresses[at], moved, addresses[:3]); err != nil {
			t.Fatal(err)
		}
	}
	reserveSome(20)
	for _, at := range []int{0, 2} {
		if _, err := driver.Seal(t.Context(), addresses[at], moved, 1); err != nil {
			t.Fatal(err)
		}
	}
	stations[1].kill()
	for _, at := range next {
		if err := driver.Install(t.Context(), addresses[at], moved, 2, ring.Enough(3), addresses[:3]); err != nil {
			t.Fatal(err)
		}
		if o := reserve(t, replicas[at], movedReservations(1e6, 1)...); o.err != nil || o.answers[0].Verdict == reg.Accepted {
			t.Errorf("before it has entered the epoch, it answers %+v", o)
		}
		if err := stores[at].Enter(t.Context(), moved, 2); err != nil {
			t.Fatal(err)
		}
	}
	for _, at := range next {
		for i, r := range accepted {
			r.Epoch, r.Seq = 2, uint64(10_000_000+i)
			if o := reserve(t, replicas[at], r); o.err != nil || o.answers[0].Verdict != reg.Taken || o.answers[0].Position != r.To {
				t.Fatalf("node %d answers %+v to what a majority has accepted before", at, o)
			}
			r.From, r.To, r.Seq = r.To, r.To+1, r.Seq+1_000_000
			if o := reserve(t, replicas[at], r); o.err != nil || o.answers[0].Verdict != reg.Accepted {
				t.Fatalf("node %d answers %+v to what is free", at, o)
			}
		}
	}
	for _, at := range []int{0, 2, 4} {
		if err := stores[at].Close(); err != nil {
			t.Fatal(err)
		}
		o := reserve(t, replicas[at], movedReservations(0, 1)...)
		wantText(t, o.err, storage.ErrClosed.Error())
	}
}

// BenchmarkReserve measures batches of reservations at a store in this process, and at the same kind of store behind a
// connection. Under way are as many batches as a few shards of a busy owner have.
func BenchmarkReserve(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("local/%d", size), func(b *testing.B) {
			s := openStore(b)
			if err := s.Found(b.Context()); err != nil {
				b.Fatal(err)
			}
			benchmarkReserve(b, s, size)
		})
		b.Run(fmt.Sprintf("peer/%d", size), func(b *testing.B) {
			_, stations := startStores(b, 1, 1)
			p := newTestClient(b, ClientConfig{ID: ring.NodeID{77}, Key: newKey(b)})
			benchmarkReserve(b, connectTo(b, p, stations[0].address), size)
		})
		b.Run(fmt.Sprintf("peer-plain/%d", size), func(b *testing.B) {
			s := openStore(b)
			if err := s.Found(b.Context()); err != nil {
				b.Fatal(err)
			}
			n := startStation(b, stationConfig{id: 1, store: s})
			benchmarkReserve(b, connectTo(b, newTestClient(b, ClientConfig{}), n.address), size)
		})
	}
}

func benchmarkReserve(b *testing.B, replica actor.Replica, size int) {
	b.Helper()
	const under = 8
	batches := make(chan []reg.Reservation, under)
	for i := range under {
		batches <- someReservations(i*size, size)
	}
	var wg sync.WaitGroup
	b.ReportAllocs()
	seq := uint64(1)
	for b.Loop() {
		rs := <-batches
		for i := range rs {
			rs[i].Seq, rs[i].From, rs[i].To = seq, rs[i].To, rs[i].To+1
			seq++
		}
		wg.Add(1)
		replica.Reserve(rs, func(answers []reg.Answer, err error) {
			if err != nil || answers[0].Verdict != reg.Accepted {
				b.Errorf("got %v and %v", answers, err)
			}
			batches <- rs
			wg.Done()
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/reservation")
}
