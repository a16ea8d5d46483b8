package peers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
	reg "github.com/jeton-dev/jeton/storage/register"
)

func wantText(t *testing.T, err error, says string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v, want an error with %q", err, says)
	}
}

// TestPeerCalls calls what is no stream.
func TestPeerCalls(t *testing.T) {
	store := newLedger(1, reg.Partition{Epoch: 3, Horizon: 5})
	n := startStation(t, stationConfig{id: 1, store: store, handle: func(_ context.Context, m []byte) ([]byte, error) {
		if string(m) == "bad" {
			return nil, errors.New("no such message")
		}
		return append(m, '!'), nil
	}})
	p := newTestClient(t, ClientConfig{})
	if answer, err := p.Call(t.Context(), n.address, []byte("join")); err != nil || string(answer) != "join!" {
		t.Errorf("got %q and %v", answer, err)
	}
	_, err := p.Call(t.Context(), n.address, []byte("bad"))
	wantText(t, err, n.address+": no such message")

	r := someReservation(7)
	r.Epoch = 3
	if o := reserve(t, connectTo(t, p, n.address), r); o.err != nil || o.answers[0].Verdict != reg.Accepted {
		t.Fatalf("got %+v", o)
	}
	l, err := p.Replica(n.address).Look(t.Context(), r.Partition, r.Key, r.Limit)
	if err != nil || !l.Exists || l.Register.H != r.To || l.Register.Writer != r.Writer || l.Partition.Horizon != 5 {
		t.Errorf("looked and saw %+v and %v", l, err)
	}
	l, err = p.Replica(n.address).Look(t.Context(), r.Partition, "nobody", r.Limit)
	if err != nil || l.Exists || l.Partition.Epoch != 3 {
		t.Errorf("looked and saw %+v and %v", l, err)
	}

	_, err = p.Seal(t.Context(), n.address, 5, 4)
	wantText(t, err, "another epoch: 3, not 4")
	for _, has := range []bool{false, true} {
		if _, err := store.change(5, func(s *reg.Partition) error { s.Floored = has; return nil }); err != nil {
			t.Fatal(err)
		}
		if floored, err := p.Seal(t.Context(), n.address, 5, 3); err != nil || floored != has || !store.Partition(5).Sealed {
			t.Errorf("sealed: %v, and it says of a floor that is %v: %v, %v", store.Partition(5).Sealed, has, floored, err)
		}
	}
	_, err = p.Seal(t.Context(), n.address, ring.DefaultPartitions, 3)
	wantText(t, err, "partition: 271 is not below 271")
	wantText(t, p.Copy(t.Context(), n.address, 5, nil), "sources: needs at least one")
	wantText(t, p.Install(t.Context(), n.address, 5, 4, 0, []string{n.address}), "enough: is 0")
	wantText(t, p.Install(t.Context(), n.address, 5, 4, 1, []string{""}), "sources:")
	_, err = p.Call(t.Context(), "127.0.0.1:1", nil)
	wantText(t, err, "127.0.0.1:1")
}

// TestReserveMessages sends messages that a node refuses, over a stream that goes on.
func TestReserveMessages(t *testing.T) {
	store := newLedger(1, reg.Partition{Epoch: 1})
	n := startStation(t, stationConfig{id: 1, store: store})
	client := pb.NewPeerClient(dialAs(t, n.address, nil))
	open := func(id string) (stream pb.Peer_ReserveClient) {
		t.Helper()
		stream, err := client.Reserve(metadata.AppendToOutgoingContext(t.Context(), nodeHeader, id))
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	_, err := open("me").Recv()
	wantCode(t, err, codes.InvalidArgument, nodeHeader)

	stream := open(ring.NodeID{5}.String())
	one := []*pb.Reservation{{Seq: 1, Epoch: 1, Key: "k", Limit: "l", FromNs: midday, ToNs: midday + 1, ReachNs: 1}}
	writer := make([]byte, 16)
	for _, test := range []struct {
		m    *pb.ReserveRequest
		says string
	}{
		{&pb.ReserveRequest{Id: 1, NowNs: midday, Writer: writer, Reservations: one}, ""},
		{&pb.ReserveRequest{Id: 2, Writer: writer, Reservations: one}, "now_ns"},
		{&pb.ReserveRequest{Id: 3, NowNs: midday, Writer: []byte("x"), Reservations: one}, "writer: has 1 bytes"},
		{&pb.ReserveRequest{Id: 4, NowNs: midday, Writer: writer, Reservations: make([]*pb.Reservation, 1001)}, "1001"},
		{&pb.ReserveRequest{Id: 5, NowNs: midday, Writer: writer}, ""},
		{&pb.ReserveRequest{Id: 6, NowNs: midday + 1e9, Writer: writer, Reservations: []*pb.Reservation{{Seq: 2, Epoch: 1, Key: "new", FromNs: midday, ToNs: midday}}}, ""},
	} {
		if err := stream.Send(test.m); err != nil {
			t.Fatal(err)
		}
		a, err := stream.Recv()
		if err != nil || a.GetId() != test.m.GetId() || (a.GetError() == "") != (test.says == "") || !strings.Contains(a.GetError(), test.says) {
			t.Errorf("message %d: %v and %v", test.m.GetId(), a, err)
		}
		if test.says == "" && len(a.GetAnswers()) != len(test.m.GetReservations()) {
			t.Errorf("message %d has %d answers", test.m.GetId(), len(a.GetAnswers()))
		}
		if test.m.GetId() == 6 && (a.GetAnswers()[0].GetVerdict() != uint32(reg.Skewed) || a.GetAnswers()[0].GetSkewNs() != 1e9) {
			t.Errorf("of a clock that is a second ahead: %v", a)
		}
	}
	if err := stream.Send(&pb.ReserveRequest{Reservations: []*pb.Reservation{{Partition: 1 << 16}}}); err != nil {
		t.Fatal(err)
	}
	_, err = stream.Recv()
	wantCode(t, err, codes.Internal, "partition")
}

// TestBackpressure sends a node more than it answers: it stops to read, and goes on when it has answered. A machine that stands still
// for seconds breaks the connection: then all of it is done again.
func TestBackpressure(t *testing.T) {
	for !pressBack(t) {
		t.Log("the connection broke: once more")
	}
}

// pressBack says whether the connection lasted.
func pressBack(t *testing.T) bool {
	t.Helper()
	const messages = 3 * maxReserved / pb.MaxReservations
	store := newLedger(1, reg.Partition{Epoch: 1})
	store.keepBack()
	n := startStation(t, stationConfig{id: 1, store: store})
	peers := newTestClient(t, ClientConfig{})
	replica := connectTo(t, peers, n.address)
	got, broken := make(chan outcome, messages), make(chan struct{}, messages)
	for i := range messages {
		rs := someReservations(i*pb.MaxReservations, pb.MaxReservations)
		replica.Reserve(rs, func(answers []reg.Answer, err error) {
			if err != nil {
				broken <- struct{}{}
			}
			got <- outcome{answers, err}
		})
	}
	for answered := 0; answered < messages; {
		select {
		case <-broken:
			return false
		case <-store.came:
		}
		store.mu.Lock()
		full := store.holding == maxReserved
		store.mu.Unlock()
		if full || answered >= messages-maxReserved/pb.MaxReservations {
			answered += store.release(messages)
		}
	}
	for range messages {
		o := await(t, got)
		if o.err != nil {
			return false
		}
		if len(o.answers) != pb.MaxReservations {
			t.Fatalf("%d answers", len(o.answers))
		}
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if store.most != maxReserved {
		t.Errorf("%d reservations were at the store at once, want %d", store.most, maxReserved)
	}
	return true
}

// TestOrder reserves in batches of all sizes: the replica gets every reservation in order, and every batch its answers.
func TestOrder(t *testing.T) {
	store := newLedger(1, reg.Partition{Epoch: 1})
	n := startStation(t, stationConfig{id: 1, store: store, key: newKey(t)})
	replica := connectTo(t, newTestClient(t, ClientConfig{Key: newKey(t)}), n.address)
	sizes := []int{1, 3, 999, 1000, 1001, 2500, 1, 1, 7}
	got, from := make([]chan outcome, len(sizes)), 0
	for i, size := range sizes {
		got[i] = make(chan outcome, 1)
		replica.Reserve(someReservations(from, size), func(answers []reg.Answer, err error) { got[i] <- outcome{answers, err} })
		from += size
	}
	next := 0
	for i, size := range sizes {
		o := await(t, got[i])
		if o.err != nil || len(o.answers) != size {
			t.Fatalf("batch %d: %d answers and %v, want %d", i, len(o.answers), o.err, size)
		}
		for _, a := range o.answers {
			if want := someReservation(next); a.Verdict != reg.Accepted || a.Position != want.To || a.Epoch != 1 {
				t.Fatalf("reservation %d: got %+v", next, a)
			}
			next++
		}
	}
	store.mu.Lock()
	defer store.mu.Unlock()
	if !slices.IsSortedFunc(store.seen, func(a, b reg.Reservation) int { return int(a.Seq) - int(b.Seq) }) || len(store.seen) != from {
		t.Errorf("the replica saw %d reservations, not all %d in order", len(store.seen), from)
	}
	for _, m := range store.seen {
		if m.Now != midday || m.Writer != (reg.Writer{1}) {
			t.Fatalf("the replica saw %+v", m)
		}
	}
}

// TestStopAnswersReservations stops a node in good order while reservations are unanswered: they are answered first.
func TestStopAnswersReservations(t *testing.T) {
	store := newLedger(1, reg.Partition{Epoch: 1})
	store.keepBack()
	n := startStation(t, stationConfig{id: 1, store: store})
	p := newTestClient(t, ClientConfig{})
	replica := connectTo(t, p, n.address)
	got := make(chan outcome, 1)
	replica.Reserve(someReservations(0, 5), func(answers []reg.Answer, err error) { got <- outcome{answers, err} })
	await(t, store.came)
	stopped := make(chan struct{})
	go func() { n.stop(n.server.GracefulStop); close(stopped) }()
	<-n.service.stopping
	store.release(1)
	if o := await(t, got); o.err != nil || len(o.answers) != 5 {
		t.Errorf("got %+v", o)
	}
	await(t, stopped)
	eventually(t, "no stream", func() bool { return !p.Connected(n.address) })
	if o := reserve(t, replica, someReservation(9)); o.err == nil {
		t.Error("a stopped node answers")
	}
	if ids := n.service.Connected(); len(ids) != 0 {
		t.Errorf("%v are connected to a node that has stopped", ids)
	}
}

// TestConnected checks that nodes know who can reach them, and that one who is reached connects back.
func TestConnected(t *testing.T) {
	a := startStation(t, stationConfig{id: 1, store: newLedger(1, reg.Partition{Epoch: 1})})
	b := startStation(t, stationConfig{id: 2, store: newLedger(2, reg.Partition{Epoch: 1})})
	if ids := a.service.Connected(); len(ids) != 0 {
		t.Errorf("%v are connected before anybody is", ids)
	}
	connectTo(t, a.client, b.address)
	connectTo(t, b.client, a.address)
	p := newTestClient(t, ClientConfig{ID: ring.NodeID{2}}) // as after a restart: the old stream may be there yet
	connectTo(t, p, a.address)
	if ids := a.service.Connected(); !slices.Equal(ids, []ring.NodeID{{2}}) {
		t.Errorf("%v are connected to a", ids)
	}
	if ids := b.service.Connected(); !slices.Equal(ids, []ring.NodeID{{1}}) {
		t.Errorf("%v are connected to b", ids)
	}
	p.Close()
	if ids := a.service.Connected(); !slices.Equal(ids, []ring.NodeID{{2}}) {
		t.Errorf("%v are connected to a when one of two streams is closed", ids)
	}
	b.client.Keep(nil)
	eventually(t, "nobody is connected to a", func() bool { return len(a.service.Connected()) == 0 })
}
