package peers

import (
	"context"
	"errors"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// A node may come back at the address that another one had. Were it taken for that one, an owner that repeats its
// reservation would hear the same acceptance twice, from one disk, and count a majority of three.
func TestANodeIsNotTakenForAnother(t *testing.T) {
	store := newLedger(3, reg.Partition{Epoch: 1})
	n := startStation(t, stationConfig{id: 3, store: store})
	was, is := ring.NodeID{2}.At(n.address), ring.NodeID{3}.At(n.address)
	p := newTestClient(t, ClientConfig{})
	at := connectTo(t, p, is)
	if o := reserve(t, at, movedReservations(1, 1)...); o.err != nil || o.answers[0].Verdict != reg.Accepted {
		t.Fatalf("the node that is meant answers %+v", o)
	}
	gone := p.Replica(was)
	eventually(t, "a refusal of the stream", func() bool {
		o := reserve(t, gone, movedReservations(1, 1)...)
		if o.err == nil {
			t.Fatalf("the node that was there is answered for: %+v", o)
		}
		return o.err.Error() == "node at "+n.address+": this is node "+n.id.String()+", and the call is for node "+ring.NodeID{2}.String()+
			", which has another address now"
	})
	_, err := p.Seal(t.Context(), was, moved, 1)
	wantText(t, err, "which has another address now")
	if store.Partition(moved).Sealed {
		t.Error("the wrong node was sealed")
	}
	if _, err := gone.Look(t.Context(), moved, "user:1", "login"); err == nil {
		t.Error("the wrong node was looked at")
	}
}

// Of the sealed ones, nobody counts for two.
func TestASourceCountsOnce(t *testing.T) {
	in := reg.Partition{Epoch: 1}
	s := newSet(t, in, in, reg.Partition{})
	seal(t, s.ledgers[0])
	seal(t, s.ledgers[1])
	first, second := ring.NodeID{1}.At(s.stations[0].address), ring.NodeID{2}.At(s.stations[0].address)
	p := newTestClient(t, ClientConfig{})
	to := ring.NodeID{3}.At(s.stations[2].address)
	wantText(t, p.Install(t.Context(), to, moved, 2, 2, []string{first, second}), "too few replicas are sealed")
	second = ring.NodeID{2}.At(s.stations[1].address)
	if err := p.Install(t.Context(), to, moved, 2, 2, []string{first, second}); err != nil {
		t.Error(err)
	}
}

// stalled is a store whose exports wait.
type stalled struct {
	*storage.Store
	begun, goOn chan struct{}
}

func (s *stalled) Export(
	ctx context.Context, p ring.Partition, since []byte, yield func([]storage.Exported) error,
) ([]byte, reg.Partition, error) {
	s.begun <- struct{}{}
	<-s.goOn
	return s.Store.Export(ctx, p, since, yield)
}

// A node that installs from itself and another one may drop its registers meanwhile, because it is no member any more. Then
// it must not pass for complete, though nothing came from the other one.
func TestADropDuringAnInstall(t *testing.T) {
	stores, stations := startStores(t, 1, 1)
	other := openStore(t)
	if err := other.Found(t.Context()); err != nil {
		t.Fatal(err)
	}
	slow := &stalled{other, make(chan struct{}, 9), make(chan struct{})}
	source := startStation(t, stationConfig{id: 2, key: newKey(t), store: slow})
	accept(t, stores[0], movedReservations(1, 5)...)
	seal(t, stores[0])
	seal(t, other)
	done := make(chan error, 1)
	go func() {
		_, err := stations[0].service.Install(context.Background(), &pb.InstallRequest{
			Partition: uint32(moved), Epoch: 2, Enough: 2, Sources: []string{stations[0].address, source.address},
		})
		done <- err
	}()
	await(t, slow.begun)
	if err := stores[0].Drop(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	close(slow.goOn)
	if err := await(t, done); !errors.Is(err, reg.ErrTooFew) {
		t.Errorf("the install says: %v", err)
	}
	if got := stores[0].Partition(moved); got.Installed != 0 || !got.Incomplete {
		t.Errorf("without its registers, the partition is %+v", got)
	}
}
