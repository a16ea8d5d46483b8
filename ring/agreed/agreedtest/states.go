// Package agreedtest makes states for tests: nodes by number, as in [Node] and [Found], or by letter, as in [LetterNode]
// and [Founded].
package agreedtest

import (
	"encoding/json"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
)

// ID is the i-th node of a test.
func ID(i int) ring.NodeID { return ring.NodeID{15: byte(i)} }

// IDs are several of them.
func IDs(is ...int) (ids []ring.NodeID) {
	for _, i := range is {
		ids = append(ids, ID(i))
	}
	return ids
}

// Node is the i-th node, called by its letter.
func Node(i int) agreed.Node {
	name := string(rune('a' + i - 1))
	return agreed.Node{
		ID: ID(i), Name: name, Zone: "z" + name, GRPC: name + ":7700", HTTP: name + ":7702", Gossip: name + ":7701",
		Raft: name + ":7703", Mark: agreed.Mark{Boot: 1, Minute: 100}, Process: agreed.Unique{byte(i)},
	}
}

// Found founds a cluster of nodes 1 to n with four partitions.
func Found(n int) agreed.Command {
	f := agreed.Found{Cluster: agreed.Unique{7}, Partitions: 4, Replicas: 3, Limits: agreed.Document("limits: {}\n")}
	var members []ring.NodeID
	for i := range n {
		f.Nodes = append(f.Nodes, Node(i+1))
		members = append(members, ID(i+1))
	}
	for p := range f.Partitions {
		var replicas []ring.NodeID
		for i := range ring.Replication(n, f.Replicas) {
			replicas = append(replicas, members[(p+i)%n])
		}
		f.Table = append(f.Table, replicas)
	}
	return agreed.Command{Found: &f}
}

// fataler is a test, or a step of a property.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// JSON is a value in JSON, for comparing.
func JSON(t fataler, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%#v: %v", v, err)
	}
	return string(b)
}

// Letter is the id of a node in these tests; its name and gRPC address are the letter too.
func Letter(b byte) ring.NodeID { return ring.NodeID{15: b} }

// Letters are the ids of the nodes with these letters.
func Letters(text string) (ids []ring.NodeID) {
	for i := range len(text) {
		ids = append(ids, Letter(text[i]))
	}
	return ids
}

// Spell is the letters of ids.
func Spell(ids []ring.NodeID) string {
	var text []byte
	for _, id := range ids {
		text = append(text, id[15])
	}
	return string(text)
}

// LetterNode is the node with that letter.
func LetterNode(b byte) agreed.Node {
	name := string(b)
	return agreed.Node{ID: Letter(b), Name: name, GRPC: name, HTTP: name, Gossip: name, Raft: name, Mark: agreed.Mark{Boot: 1}}
}

// Founded is the state of a cluster that these nodes have founded.
func Founded(t *testing.T, nodes string, partitions, replicas int) *agreed.State {
	t.Helper()
	c := agreed.Found{Cluster: agreed.Unique{1}, Partitions: partitions, Replicas: replicas, Limits: agreed.Document("limits: {}")}
	var members []ring.Member
	for i := range len(nodes) {
		c.Nodes = append(c.Nodes, LetterNode(nodes[i]))
		members = append(members, ring.Member{ID: Letter(nodes[i])})
	}
	table, err := ring.Assign(nil, members, partitions, ring.Replication(len(members), replicas))
	if err != nil {
		t.Fatal(err)
	}
	c.Table = table
	s, err := (&agreed.Command{Found: &c}).Apply(&agreed.State{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
