package peers

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// A moody replica has several disks, of which one is in it at a time, and can fail to answer.
type moody struct {
	Registers // for all but reservations

	mu     sync.Mutex
	disks  []*storage.Store
	at     int           // the disk that is in
	silent bool          // it does not answer
	deaf   bool          // nor does it store
	over   chan struct{} // gets a token when it has not answered
}

func (m *moody) Reserve(rs []reg.Reservation, done func([]reg.Answer, error)) {
	m.mu.Lock()
	disk, silent, deaf := m.disks[m.at], m.silent, m.deaf
	m.mu.Unlock()
	switch {
	case silent && deaf:
		m.over <- struct{}{}
	case silent:
		disk.Reserve(rs, func([]reg.Answer, error) { m.over <- struct{}{} })
	default:
		disk.Reserve(rs, done)
	}
}

func (m *moody) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

func valueOf(tb testing.TB, c prometheus.Counter) int {
	tb.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		tb.Fatal(err)
	}
	return int(m.GetCounter().GetValue())
}

// A walk drives one node against a moody replica, and decides everything once more, whole, by the pure steps.
type walk struct {
	*testing.T

	r       *rand.Rand
	replica *moody
	station *station
	client  *Client
	to      actor.Replica
	models  []map[string]reg.Register // by disk
	ledgers map[string][]byte         // that the owner wrote last
	seq     uint64
}

func newWalk(t *testing.T) *walk {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &walk{T: t, r: rand.New(rand.NewPCG(seed, 0)), ledgers: map[string][]byte{}}
	w.replica = &moody{over: make(chan struct{}, 1)}
	for range 2 {
		disk := openStore(t)
		if err := disk.Found(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.replica.disks = append(w.replica.disks, disk)
		w.models = append(w.models, map[string]reg.Register{})
	}
	w.replica.Registers = w.replica.disks[0]
	w.station = startStation(t, stationConfig{id: 1, store: w.replica})
	w.client = newTestClient(t, ClientConfig{})
	w.to = connectTo(t, w.client, w.station.address)
	return w
}

func (w *walk) series() remoteMetrics { return w.client.metrics.of(w.station.address) }

// changed is the next ledger of a key: with a few bytes more, fewer or other ones than the owner's last one.
func (w *walk) changed(key string) []byte {
	next := bytes.Clone(w.ledgers[key])
	for len(next) < 300 {
		next = append(next, byte(w.r.Uint32()))
	}
	at := w.r.IntN(len(next))
	come := make([]byte, w.r.IntN(40))
	for i := range come {
		come[i] = byte(w.r.Uint32())
	}
	next = slices.Concat(next[:at], come, next[min(at+w.r.IntN(30), len(next)):])
	w.ledgers[key] = next
	return next
}

// batch is what an owner asks of some keys: mostly to write a ledger where the line is free, and sometimes to claim one, or too early.
func (w *walk) batch() (rs []reg.Reservation) {
	for _, i := range w.r.Perm(5)[:1+w.r.IntN(5)] {
		m := someReservation(i)
		w.seq++
		m.Seq, m.Limit = w.seq, "budget"
		m.From = max(midday, w.models[w.replica.at][m.Key].H) - int64(w.r.IntN(8)/7)
		if m.To = m.From + 1; w.r.IntN(8) == 0 {
			m.Claim = true
		} else {
			m.Ledger, m.Expire = w.changed(m.Key), midday+1e9
		}
		rs = append(rs, m)
	}
	return rs
}

// decides is what the pure steps make of a batch.
func (w *walk) decides(rs []reg.Reservation) []reg.Answer {
	answers, model := make([]reg.Answer, len(rs)), w.models[w.replica.at]
	for i, m := range rs {
		m.Now = midday
		model[m.Key], answers[i], _ = reg.Partition{Epoch: ring.FirstEpoch}.Reserve(model[m.Key], m, midday, reg.DefaultBounds())
	}
	return answers
}

// asks reserves, and compares the answers.
func (w *walk) asks(rs []reg.Reservation) {
	w.Helper()
	want := w.decides(rs)
	got := reserve(w, w.to, rs...)
	if got.err != nil {
		w.Fatal(got.err)
	}
	for i := range want {
		a, b := got.answers[i], want[i]
		if !bytes.Equal(a.Ledger, b.Ledger) {
			w.Fatalf("the %d-th claim was told %x, want %x", i, a.Ledger, b.Ledger)
		}
		if a.Ledger, b.Ledger = nil, nil; !reflect.DeepEqual(a, b) {
			w.Fatalf("the %d-th reservation got %+v, want %+v", i, a, b)
		}
	}
}

// loses has a batch fail: the replica has stored it or not, and its answer does not come. Then it is asked again.
func (w *walk) loses(rs []reg.Reservation, stored bool) {
	w.Helper()
	w.replica.set(func() { w.replica.silent, w.replica.deaf = true, !stored })
	got := make(chan outcome, 1)
	w.to.Reserve(rs, func(answers []reg.Answer, err error) { got <- outcome{answers, err} })
	await(w, w.replica.over)
	w.station.kill()
	if o := await(w, got); o.err == nil {
		w.Fatalf("without an answer, it got %+v", o)
	}
	if stored {
		// What came as a difference from another ledger is not stored: the replica would have said so. What is stored is told
		// by the disk.
		for _, m := range rs {
			l, err := w.replica.disks[w.replica.at].Look(w.Context(), m.Partition, m.Key, m.Limit)
			if err != nil {
				w.Fatal(err)
			}
			before := w.models[w.replica.at][m.Key]
			if !sameRegister(l.Register, before) {
				w.decides([]reg.Reservation{m})
			}
		}
	}
	w.replica.set(func() { w.replica.silent = false })
	w.station = startStation(w, stationConfig{id: 1, store: w.replica, listen: w.station.address})
	eventually(w, "a stream again", func() bool { return w.client.Connected(w.station.address) })
	w.asks(rs)
}

// sameRegister compares registers; no ledger is an empty one.
func sameRegister(a, b reg.Register) bool {
	if !bytes.Equal(a.Ledger, b.Ledger) {
		return false
	}
	a.Ledger, b.Ledger = nil, nil
	return reflect.DeepEqual(a, b)
}

// compare compares what is on the disks with what the pure steps have made.
func (w *walk) compare() {
	w.Helper()
	for i, model := range w.models {
		for key, want := range model {
			m := reg.Reservation{Partition: ring.PartitionOf(ring.Hash(key), ring.DefaultPartitions), Key: key, Limit: "budget"}
			l, err := w.replica.disks[i].Look(w.Context(), m.Partition, m.Key, m.Limit)
			if err != nil || !sameRegister(l.Register, want) {
				w.Errorf("disk %d has of %s\n%+v, %v, want\n%+v", i, key, l.Register, err, want)
			}
		}
	}
}

// TestDifferencesChangeNothing draws what an owner writes at another node, over real streams and storage, while disks with older
// ledgers are put in its place and answers are lost, of what was stored and of what was not: every answer and every register is as
// if each ledger had come whole.
func TestDifferencesChangeNothing(t *testing.T) {
	w := newWalk(t)
	const steps = 600
	for i := range steps {
		switch w.r.IntN(20) {
		case 0:
			w.replica.set(func() { w.replica.at = 1 - w.replica.at })
		case 1:
			if i%4 == 0 {
				w.loses(w.batch(), w.r.IntN(2) == 0)
			}
		case 2: // another owner writes
			rs := w.batch()
			for i := range rs {
				rs[i].Writer, rs[i].Now = reg.Writer{2}, midday
			}
			w.decides(rs)
			reserve(t, w.replica.disks[w.replica.at], rs...)
		case 3: // the same again
			rs := w.batch()
			w.asks(rs)
			w.asks(rs)
		default:
			w.asks(w.batch())
		}
	}
	w.compare()
	series := w.series()
	whole, differing, again := valueOf(t, series.whole), valueOf(t, series.differences), valueOf(t, series.otherBase)
	t.Logf("%d bytes went whole and %d as differences; the whole was asked for %d times", whole, differing, again)
	if differing < steps*50 || again < 10 {
		t.Error("too little of this was met")
	}
}

// older is the server of a node of before differences: it says nothing of them.
func older(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return inWireForm(srv, silentHeader{stream}, info, next)
}

type silentHeader struct{ grpc.ServerStream }

func (s silentHeader) SendHeader(metadata.MD) error { return s.ServerStream.SendHeader(metadata.MD{}) }

// TestOlderNodesGetTheWhole writes at a node of before differences, and at one that takes them.
func TestOlderNodesGetTheWhole(t *testing.T) {
	for name, takes := range map[string]bool{"older": false, "newer": true} {
		t.Run(name, func(t *testing.T) {
			store := newLedger(1, reg.Partition{Epoch: ring.FirstEpoch})
			cfg := stationConfig{id: 1, store: store}
			if !takes {
				cfg.intercept = older
			}
			n := startStation(t, cfg)
			client := newTestClient(t, ClientConfig{})
			replica := connectTo(t, client, n.address)
			ledger := bytes.Repeat([]byte("0123456789abcdef"), 100)
			for i := range 5 {
				m := someReservation(0)
				m.From, m.To, m.Seq, m.Ledger = midday+int64(i), midday+int64(i)+1, uint64(i)+1, slices.Concat(ledger, []byte(fmt.Sprint(i)))
				if o := reserve(t, replica, m); o.err != nil || o.answers[0].Verdict != reg.Accepted {
					t.Fatalf("got %+v", o)
				}
			}
			differences := 0
			for _, m := range store.seen {
				if len(m.Difference) > 0 {
					differences++
				}
			}
			if want := map[bool]int{true: 4}[takes]; differences != want {
				t.Errorf("%d of 5 ledgers came as differences, want %d", differences, want)
			}
			if l, err := store.Look(context.Background(), someReservation(0).Partition, "user:0", "login"); err != nil || string(l.Register.Ledger) != string(ledger)+"4" {
				t.Errorf("the register is %+v, %v", l.Register, err)
			}
		})
	}
}

// TestSentLedgersAreBounded sends the ledgers of more buckets than are remembered, and ends streams.
func TestSentLedgersAreBounded(t *testing.T) {
	s := newSentLedgers(100 << 10)
	streams := []*differing{{}, {}}
	held := func() (sum int64) {
		for _, m := range []map[sentTo]sentLedger{s.young, s.old} {
			for to, l := range m {
				sum += to.room(l)
			}
		}
		return sum
	}
	for i := range 10_000 {
		to := sentTo{streams[i%2], 0, fmt.Sprint(i / 4 % 300), "l"}
		l, found := s.take(to)
		if i%4 > 1 != found {
			t.Fatalf("the %d-th: found %v", i, found)
		}
		s.put(to, sentLedger{bytes: append(l.bytes[:0], make([]byte, 300+i%2000)...)})
		if n := held(); n > s.most {
			t.Fatalf("%d bytes are held of %d", n, s.most)
		}
	}
	s.put(sentTo{streams[0], 0, "huge", "l"}, sentLedger{bytes: make([]byte, 60<<10)})
	if _, found := s.take(sentTo{streams[0], 0, "huge", "l"}); found {
		t.Error("a ledger of more than half of the memory is held")
	}
	s.put(sentTo{streams[1], 0, "k", "l"}, sentLedger{bytes: make([]byte, 300)})
	s.forget(streams[0])
	if _, found := s.take(sentTo{streams[1], 0, "k", "l"}); !found {
		t.Error("what went on another stream is forgotten")
	}
	s.forget(streams[1])
	if n := held(); n != 0 || s.bytes != 0 {
		t.Errorf("with no stream, %d bytes are held, and %d counted", n, s.bytes)
	}
}
