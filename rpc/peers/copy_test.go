package peers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// moved is the partition that these tests move.
const moved = ring.Partition(7)

// A set is some nodes with ledgers.
type set struct {
	stations []*station
	ledgers  []*ledger
}

// newSet starts nodes whose partitions are in these states.
func newSet(t *testing.T, states ...reg.Partition) *set {
	t.Helper()
	s := &set{}
	for i, state := range states {
		s.ledgers = append(s.ledgers, newLedger(byte(i+1), state))
		s.stations = append(s.stations, startStation(t, stationConfig{id: byte(i + 1), store: s.ledgers[i]}))
	}
	return s
}

// addresses are those of some of the nodes.
func (s *set) addresses(of ...int) []string {
	out := make([]string, len(of))
	for i, n := range of {
		out[i] = s.stations[n].address
	}
	return out
}

// copy and install make a node do that, and say how many registers it fetched.
func (s *set) copy(t *testing.T, at int, from ...int) (uint64, error) {
	t.Helper()
	m, err := s.stations[at].service.Copy(t.Context(), &pb.CopyRequest{Partition: uint32(moved), Sources: s.addresses(from...)})
	return m.GetRegisters(), err
}

func (s *set) install(t *testing.T, at int, epoch uint64, enough uint32, from ...int) (uint64, error) {
	t.Helper()
	m, err := s.stations[at].service.Install(t.Context(), &pb.InstallRequest{
		Partition: uint32(moved), Epoch: epoch, Enough: enough, Sources: s.addresses(from...),
	})
	return m.GetRegisters(), err
}

// movedReservations are n that a fresh replica in epoch 1 accepts, of buckets of the partition that is moved.
func movedReservations(from, n int) []reg.Reservation {
	rs := someReservations(from, n)
	for i := range rs {
		rs[i].Partition = moved
	}
	return rs
}

// accept makes a ledger accept reservations.
func accept(t *testing.T, l Registers, rs ...reg.Reservation) {
	t.Helper()
	got := make(chan outcome, 1)
	l.Reserve(rs, func(answers []reg.Answer, err error) { got <- outcome{answers, err} })
	o := await(t, got)
	if o.err != nil {
		t.Fatal(o.err)
	}
	for _, a := range o.answers {
		if a.Verdict != reg.Accepted {
			t.Fatalf("a reservation was answered with %+v", a)
		}
	}
}

func seal(t *testing.T, l Registers) {
	t.Helper()
	if _, err := l.Seal(t.Context(), moved, 1); err != nil {
		t.Fatal(err)
	}
}

// covers fails t unless a ledger's line is reserved wherever these reservations are.
func covers(t *testing.T, l Registers, rs ...reg.Reservation) {
	t.Helper()
	for _, r := range rs {
		looked, err := l.Look(t.Context(), moved, r.Key, r.Limit)
		if err != nil {
			t.Fatal(err)
		}
		if free := looked.Partition.Free(looked.Register, r.Generation, r.Reach, reg.DefaultBounds()); free < r.To {
			t.Fatalf("%s is free from %d on, and was reserved up to %d", r.Key, free, r.To)
		}
	}
}

// TestMajoritySurvives reserves at random majorities of three nodes, copies, reserves more, seals two, and installs the partition
// on a fourth from whoever is sealed: nothing that a majority accepted is free there. And so once more, from that one.
func TestMajoritySurvives(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			in := reg.Partition{Epoch: 1}
			s := newSet(t, in, in, in, reg.Partition{}, reg.Partition{})
			var all []reg.Reservation
			reserve := func(n int) {
				for i := range n {
					r := movedReservations(len(all), 1)
					all = append(all, r...)
					for _, n := range random.Perm(3)[:2] {
						accept(t, s.ledgers[n], r...)
					}
					if i%3 == 0 { // a minority's, in whose place another may come
						accept(t, s.ledgers[random.IntN(3)], movedReservations(100_000+len(all), 1)...)
					}
				}
			}
			reserve(40)
			if _, err := s.copy(t, 3, 0, 1, 2); err != nil {
				t.Fatal(err)
			}
			reserve(20)
			sealed := random.Perm(3)[:2]
			for _, n := range sealed {
				seal(t, s.ledgers[n])
			}
			fetched, err := s.install(t, 3, 2, 2, 0, 1, 2)
			if err != nil {
				t.Fatal(err)
			}
			if fetched > 3*40 {
				t.Errorf("after the copy, %d registers were fetched", fetched)
			}
			covers(t, s.ledgers[3], all...)
			if state := s.ledgers[3].Partition(moved); state.Installed != 2 || state.Floored || state.Incomplete {
				t.Errorf("installed: %+v", state)
			}
			if _, err := s.install(t, 4, 2, 2, 0, 3); err != nil { // one that is installed is enough
				t.Fatal(err)
			}
			covers(t, s.ledgers[4], all...)
		})
	}
}

// TestInstallFetchesTheRest checks that what was copied is not fetched again, unless it may have been lost.
func TestInstallFetchesTheRest(t *testing.T) {
	in := reg.Partition{Epoch: 1}
	s := newSet(t, in, in, reg.Partition{})
	for _, l := range s.ledgers[:2] {
		accept(t, l, movedReservations(0, 2500)...)
	}
	wantFetched := func(what string, want uint64) func(uint64, error) {
		return func(got uint64, err error) {
			t.Helper()
			if err != nil || got != want {
				t.Errorf("%s: %d registers were fetched and %v, want %d", what, got, err, want)
			}
		}
	}
	wantFetched("the first copy", 5000)(s.copy(t, 2, 0, 1))
	wantFetched("another", 0)(s.copy(t, 2, 0, 1))
	accept(t, s.ledgers[0], movedReservations(5000, 3)...)
	wantFetched("a copy of what is new", 3)(s.copy(t, 2, 1, 0))
	if err := s.ledgers[2].Drop(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	wantFetched("a copy after the drop", 5003)(s.copy(t, 2, 0, 1))
	s.ledgers[0].mu.Lock()
	s.ledgers[0].name = 99 // the source has begun anew, and knows none of its old cursors
	s.ledgers[0].mu.Unlock()
	wantFetched("a copy of a source that has begun anew", 2503)(s.copy(t, 2, 0, 1))
	if err := s.ledgers[2].Drop(t.Context(), moved); err != nil { // its state stays as it was
		t.Fatal(err)
	}
	seal(t, s.ledgers[0])
	seal(t, s.ledgers[1])
	wantFetched("an install after that", 5003)(s.install(t, 2, 2, 2, 0, 1))
	covers(t, s.ledgers[2], movedReservations(5000, 3)...)
	wantFetched("an install that is done already", 0)(s.install(t, 2, 2, 2, 0, 1))
}

// TestInstallWithFew leaves out sources that do not answer or do not count, as long as the rest is enough.
func TestInstallWithFew(t *testing.T) {
	in, sealed := reg.Partition{Epoch: 4}, reg.Partition{Epoch: 4, Sealed: true, Horizon: 9}
	floored := reg.Partition{Epoch: 4, Sealed: true, Floored: true, Floor: 77}
	for _, test := range []struct {
		what   string
		states []reg.Partition // of the sources; the one that installs comes last
		dead   []int
		enough uint32
		says   string // empty: it is installed
		floor  int64
	}{
		{"all", []reg.Partition{sealed, sealed, sealed, {}}, nil, 2, "", 0},
		{"one is dead", []reg.Partition{sealed, sealed, sealed, {}}, []int{1}, 2, "", 0},
		{"two are dead", []reg.Partition{sealed, sealed, sealed, {}}, []int{0, 1}, 2, "too few", 0},
		{"one is not sealed", []reg.Partition{sealed, in, sealed, {}}, nil, 2, "", 0},
		{"two are not", []reg.Partition{sealed, in, in, {}}, nil, 2, "too few", 0},
		{"one is floored", []reg.Partition{floored, sealed, sealed, {}}, nil, 2, "", 0},
		{"one is floored, one dead", []reg.Partition{floored, sealed, sealed, {}}, []int{2}, 2, "", 77},
		{"it is one of them", []reg.Partition{sealed, in, sealed}, []int{1}, 2, "", 0},
		{"it is one of them, and not sealed", []reg.Partition{sealed, sealed, in}, []int{1}, 2, "too few", 0},
		{"one has it installed", []reg.Partition{in, {Epoch: 4, Sealed: true, Installed: 5}, {}}, []int{0}, 2, "", 0},
		{"one is incomplete", []reg.Partition{sealed, {Epoch: 4, Sealed: true, Incomplete: true}, {}}, nil, 2, "too few", 0},
		{"alone", []reg.Partition{sealed, {}}, nil, 1, "", 0},
	} {
		t.Run(test.what, func(t *testing.T) {
			s := newSet(t, test.states...)
			at := len(test.states) - 1
			var from []int
			for i, state := range test.states {
				if i < at || state.Epoch > 0 {
					from = append(from, i, i) // said twice, it counts once
				}
			}
			for _, n := range test.dead {
				s.stations[n].kill()
			}
			_, err := s.install(t, at, 5, test.enough, from...)
			state := s.ledgers[at].Partition(moved)
			if test.says != "" {
				wantText(t, err, test.says)
				if state != test.states[at] {
					t.Errorf("it became %+v", state)
				}
				return
			}
			if err != nil || state.Installed != 5 || state.Floored != (test.floor != 0) || state.Floor != test.floor {
				t.Errorf("it became %+v and %v, want a floor of %d", state, err, test.floor)
			}
		})
	}
}

// TestInstallDoesNotWait installs while one source is frozen in the middle of its export.
func TestInstallDoesNotWait(t *testing.T) {
	sealed := reg.Partition{Epoch: 1, Sealed: true}
	s := newSet(t, sealed, sealed, reg.Partition{})
	stuck := &stuckExport{ledger: newLedger(9, sealed), entered: make(chan struct{}, 1)}
	frozen := startStation(t, stationConfig{id: 9, store: stuck})
	s.stations = append(s.stations, frozen)
	if _, err := s.install(t, 2, 2, 2, 0, 1, 3); err != nil {
		t.Error(err)
	}
	_, err := s.stations[2].service.Copy(t.Context(), &pb.CopyRequest{Partition: 1, Sources: []string{"127.0.0.1:1"}})
	wantText(t, err, "no source could be copied")

	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := s.stations[2].service.Copy(ctx, &pb.CopyRequest{Partition: 2, Sources: []string{frozen.address}})
		if err == nil {
			t.Error("copied from a frozen source")
		}
	})
	await(t, stuck.entered)
	second, done := context.WithCancel(t.Context())
	done()
	_, err = s.stations[2].service.Copy(second, &pb.CopyRequest{Partition: 2, Sources: []string{frozen.address}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a second copy of a partition: %v, want it to wait for the first", err)
	}
	cancel()
	wg.Wait()
}

// A stuckExport is a ledger whose exports do not end.
type stuckExport struct {
	*ledger

	entered chan struct{}
}

func (s *stuckExport) Export(ctx context.Context, p ring.Partition, _ []byte, yield func([]storage.Exported) error) ([]byte, reg.Partition, error) {
	if err := yield([]storage.Exported{{Key: "k", Limit: "l"}}); err != nil {
		return nil, reg.Partition{}, err
	}
	if p == 2 {
		s.entered <- struct{}{}
	}
	<-ctx.Done()
	return nil, reg.Partition{}, ctx.Err()
}

// TestExportPieces checks that an export comes in pieces of a bounded size, and whole.
func TestExportPieces(t *testing.T) {
	l := newLedger(1, reg.Partition{Epoch: 1, Horizon: 3})
	rs := movedReservations(0, 2300)
	for i := range 5 {
		rs[i].Ledger = make([]byte, pieceBytes/2)
	}
	accept(t, l, rs...)
	n := startStation(t, stationConfig{id: 1, store: l})
	stream, err := pb.NewPeerClient(dialAs(t, n.address, nil)).Export(t.Context(), &pb.ExportRequest{Partition: uint32(moved)})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for last := false; !last; {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, r := range m.GetRegisters() {
			keys = append(keys, r.GetKey())
			size += len(r.GetKey()) + len(r.GetLimit()) + len(r.GetRegister())
		}
		if len(m.GetRegisters()) > pieceRegisters || size > pieceBytes {
			t.Errorf("a piece has %d registers and %d bytes", len(m.GetRegisters()), size)
		}
		if last = len(m.GetState()) > 0; last {
			if state, err := reg.DecodePartition(m.GetState()); err != nil || state.Horizon != 3 || len(m.GetCursor()) == 0 {
				t.Errorf("at its end it says %+v, %v and %x", state, err, m.GetCursor())
			}
		}
	}
	slices.Sort(keys)
	if len(slices.Compact(keys)) != len(rs) {
		t.Errorf("%d registers came, want %d", len(keys), len(rs))
	}
}

// TestCutExport takes a source away in the middle of an export: that is no complete copy.
func TestCutExport(t *testing.T) {
	stuck := &stuckExport{ledger: newLedger(1, reg.Partition{Epoch: 1, Sealed: true}), entered: make(chan struct{}, 1)}
	source := startStation(t, stationConfig{id: 1, store: stuck})
	l := newLedger(2, reg.Partition{})
	n := startStation(t, stationConfig{id: 2, store: l})
	failed := make(chan error, 1)
	go func() {
		_, err := n.service.Install(context.Background(), &pb.InstallRequest{Partition: 2, Epoch: 2, Enough: 1, Sources: []string{source.address}})
		failed <- err
	}()
	await(t, stuck.entered)
	source.kill()
	wantText(t, await(t, failed), "too few")
	if state := l.Partition(2); state.Installed != 0 {
		t.Errorf("it became %+v", state)
	}
}
