package joining

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/agreed/agreedtest"
	"github.com/jeton-dev/jeton/ring/cluster/folder"
	"github.com/jeton-dev/jeton/ring/cluster/gossip"
	"github.com/jeton-dev/jeton/ring/cluster/message"
)

// Two nodes with the same founder's right to their votes: whatever is refused, at most one cluster comes of four nodes.
func TestPromisesAreExclusive(t *testing.T) {
	a, b, other := Promise{agreedtest.ID(1), 1}, Promise{agreedtest.ID(2), 1}, Promise{agreedtest.ID(1), 2}
	r, err := openRecord(folder.Of(nil, t.TempDir()), agreedtest.ID(3), func(string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct {
		what string
		err  error
		want error
	}{
		{"a first promise", r.promise(a), nil},
		{"the same again", r.promise(a), nil},
		{"another founder's", r.promise(b), message.ErrPromised},
		{"a later attempt of the same founder", r.promise(other), nil},
		{"an earlier one", r.promise(a), message.ErrPromised},
		{"the release of an earlier one", r.release(a), nil},
		{"another founder's still", r.promise(b), message.ErrPromised},
		{"the release", r.release(other), nil},
		{"another founder's then", r.promise(b), nil},
	} {
		if !errors.Is(try.err, try.want) {
			t.Errorf("%s: %v, want %v", try.what, try.err, try.want)
		}
	}
	if _, err := r.openAttempt(); !errors.Is(err, message.ErrPromised) {
		t.Errorf("with a promise to another it founds: %v", err)
	}
}

func TestRecordSurvives(t *testing.T) {
	dir := t.TempDir()
	open := func() *record {
		r, err := openRecord(folder.Of(nil, dir), agreedtest.ID(1), func(string) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open()
	p, err := r.openAttempt()
	if err != nil || p != (Promise{agreedtest.ID(1), 1}) {
		t.Fatal(p, err)
	}
	if again, err := open().openAttempt(); err != nil || again != p {
		t.Errorf("the attempt that is open is %v after a restart, %v", again, err)
	}
	if err := open().release(p); err != nil {
		t.Fatal(err)
	}
	r = open()
	if err := r.decide(p, &agreed.Found{}); !errors.Is(err, agreed.ErrStale) {
		t.Errorf("a void attempt founds: %v", err)
	}
	if p, err = r.openAttempt(); err != nil || p.Attempt != 2 {
		t.Errorf("the next attempt is %v, %v", p, err)
	}
	if err := r.decide(p, &agreed.Found{Cluster: agreed.Unique{1}}); err != nil {
		t.Fatal(err)
	}
	if err := open().release(p); err != nil {
		t.Fatal(err)
	}
	if d := open().get().Decided; d == nil || d.Cluster != (agreed.Unique{1}) {
		t.Errorf("it has decided %v", d)
	}
	if _, err := openRecord(folder.Of(nil, dir), agreedtest.ID(2), nil); err == nil {
		t.Error("another node takes the promises over")
	}
}

func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"founding.json", "nodes.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(`{"id":`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openRecord(folder.Of(nil, dir), agreedtest.ID(1), nil); err == nil || !strings.Contains(err.Error(), "founding record") {
		t.Errorf("promises that cannot be read: %v", err)
	}
	b := gossip.OpenAddressBook(folder.Of(nil, dir))
	if len(b.Look()) != 0 {
		t.Errorf("it has %v", b.Look())
	}
	nodes := map[ring.NodeID]agreed.Node{agreedtest.ID(1): {GRPC: "g", Gossip: "s"}}
	if err := b.Keep(nodes); err != nil {
		t.Fatal(err)
	}
	if again := gossip.OpenAddressBook(folder.Of(nil, dir)).Look(); again[agreedtest.ID(1)] != (gossip.Contact{GRPC: "g", Gossip: "s"}) {
		t.Errorf("it has kept %v", again)
	}
}
