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
