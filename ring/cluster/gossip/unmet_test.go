package gossip

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring/key"
)

// What an address speaks is asked when it begins to answer, and forgotten when nothing answers there any more.
func TestWhatAnUnmetAddressSpeaks(t *testing.T) {
	const address = "10.0.0.1:7701"
	failed := func(why string) error {
		return errors.New("1 error occurred:\n\t* Failed to join " + address + ": " + why + "\n\n")
	}
	for name, k := range map[string]*key.Key{"without a key": nil, "with a key": new(key.Key)} {
		t.Run(name, func(t *testing.T) {
			speaks, asked := "HTTP", 0
			g := New(Config{Key: k, Logger: slog.New(slog.DiscardHandler), Speaks: func(context.Context, string) string {
				asked++
				return speaks
			}})
			for range 10 {
				g.noteUnmet(address, failed("EOF"))
				g.noteUnmet(address, failed("read tcp 10.0.0.2:5000->10.0.0.1:7701: read: connection reset by peer"))
			}
			if said := g.Unmet(); asked != 1 || !strings.Contains(said, "HTTP") {
				t.Errorf("asked %d times: %s", asked, said)
			}
			speaks = ""
			for range 5 {
				g.noteUnmet(address, failed("dial tcp 10.0.0.1:7701: connect: connection refused"))
			}
			if said := g.Unmet(); strings.Contains(said, "HTTP") || !strings.Contains(said, "refused") {
				t.Errorf("the server has ended, and it is said: %s", said)
			}
		})
	}
}

// A node that was met and kept out has spoken gossip: it is not asked what it speaks, which it would take for a message of a stranger.
func TestANodeThatIsKeptOutIsNotAskedWhatItSpeaks(t *testing.T) {
	const address = "10.0.0.1:7701"
	g := New(Config{Key: new(key.Key), Logger: slog.New(slog.DiscardHandler), Speaks: func(context.Context, string) string {
		t.Error("it is asked")
		return "TLS"
	}})
	own, other := NodeMeta{Cluster: "c1"}, NodeMeta{Cluster: "c2"}
	for range 3 {
		g.noteUnmet(address, errors.New("1 error occurred:\n\t* Failed to join "+address+": "+own.fits(other).Error()+"\n\n"))
	}
	if said := g.Unmet(); !strings.Contains(said, address+" is a node that cannot be in the same cluster: it belongs to cluster c2, this node to c1: clusters never merge") {
		t.Errorf("it is said: %s", said)
	}
}
