package pb_test

import (
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// view is of a cluster of three.
func view() *pb.View {
	a, b, c := ring.NodeID{0xa}, ring.NodeID{0xb}, ring.NodeID{0xc}
	return &pb.View{
		Version: 7, Cluster: [16]byte{1, 2, 3}, LimitsVersion: 3, Limits: []byte("limits: {}\n"),
		Nodes: []pb.Node{
			{ID: a, Name: "a", Zone: "north", GRPC: "127.0.0.1:7700", HTTP: "127.0.0.1:7702"},
			{ID: b, Name: "b", GRPC: "127.0.0.1:7710", HTTP: "127.0.0.1:7712", Leaving: true},
			{ID: c, Name: "c", GRPC: "127.0.0.1:7720", HTTP: "127.0.0.1:7722"},
		},
		Table: &ring.Table{Places: []ring.Place{
			{Epoch: 1, Replicas: []ring.NodeID{a, b, c}},
			{Epoch: 4, Replicas: []ring.NodeID{c}},
			{Epoch: 2, Replicas: []ring.NodeID{b, c, a}},
		}},
	}
}

func TestViewTravels(t *testing.T) {
	data, err := proto.Marshal(pb.EncodeView(view()))
	if err != nil {
		t.Fatal(err)
	}
	var m pb.WatchResponse
	if err := proto.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if got, err := pb.DecodeView(&m); err != nil || !reflect.DeepEqual(got, view()) {
		t.Errorf("got %+v and %v, want %+v", got, err, view())
	}
}

func TestViewBeforeTheFounding(t *testing.T) {
	got, err := pb.DecodeView(pb.EncodeView(&pb.View{}))
	if err != nil || got.Version != 0 || len(got.Table.Places) != 0 {
		t.Errorf("got %+v and %v, want nothing", got, err)
	}
}

func TestViewLeavesOutUnknownReplicas(t *testing.T) {
	v := view()
	v.Table.Places[1].Replicas = []ring.NodeID{{0xd}, {0xa}}
	got, err := pb.DecodeView(pb.EncodeView(v))
	if err != nil || !reflect.DeepEqual(got.Table.Places[1].Replicas, []ring.NodeID{{0xa}}) {
		t.Errorf("got %+v and %v, want the known replica alone", got, err)
	}
}

func TestViewsThatMeanNothing(t *testing.T) {
	for want, spoil := range map[string]func(*pb.WatchResponse){
		"cluster's id has 3 bytes":   func(m *pb.WatchResponse) { m.Cluster = m.GetCluster()[:3] },
		"cluster's id has 17 bytes":  func(m *pb.WatchResponse) { m.Cluster = make([]byte, 17) },
		"id of node 1 has 0 bytes":   func(m *pb.WatchResponse) { m.Nodes[1].Id = nil },
		"appears twice":              func(m *pb.WatchResponse) { m.Nodes[1].Id = m.GetNodes()[0].GetId() },
		"partition 2 names node 3":   func(m *pb.WatchResponse) { m.Places[2].Replicas[0] = 3 },
		"the maximum is":             func(m *pb.WatchResponse) { m.Places = make([]*pb.Place, 1<<16+1) },
		"partition 0 names node 429": func(m *pb.WatchResponse) { m.Places[0].Replicas[0] = 1<<32 - 1 },
	} {
		m := pb.EncodeView(view())
		spoil(m)
		if _, err := pb.DecodeView(m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func FuzzDecodeView(f *testing.F) {
	data, err := proto.Marshal(pb.EncodeView(view()))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pb.WatchResponse
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		v, err := pb.DecodeView(&m)
		if err != nil {
			return
		}
		if again, err := pb.DecodeView(pb.EncodeView(v)); err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%+v becomes %+v and %v", v, again, err)
		}
	})
}
