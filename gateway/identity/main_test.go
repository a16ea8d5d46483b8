package identity_test

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/gateway/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a Finder of a document's identity.
func open(tb testing.TB, cfg identity.Config) *identity.Finder {
	tb.Helper()
	f, err := identity.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(f.Close)
	return f
}

// finder makes a Finder that needs nothing but the document's identity.
func finder(tb testing.TB, id config.Identity) *identity.Finder {
	tb.Helper()
	return open(tb, identity.Config{Identity: id})
}

// compile compiles templates that are right.
func compile(tb testing.TB, f *identity.Finder, templates ...string) *identity.Templates {
	tb.Helper()
	t, err := f.Compile(templates)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// keyOf is the key of a request, empty if no template makes one.
func keyOf(f *identity.Finder, t *identity.Templates, r *identity.Request) string {
	facts := f.Facts(r)
	key, _ := t.Key(&facts)
	return key.Text
}

// networks are those written, as the document has them.
func networks(tb testing.TB, texts ...string) []config.Network {
	tb.Helper()
	var all []config.Network
	for _, text := range texts {
		n, err := config.ParseNetwork(text)
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// from is a request from an address, with headers as pairs of name and value.
func from(peer string, headers ...string) *identity.Request {
	r := &identity.Request{Method: "GET", Host: "api.example.com", Path: "/", Header: http.Header{}, Length: -1}
	if peer != "" {
		r.Peer = netip.MustParseAddr(peer)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

// wantProblem fails unless err is a *limit.FieldError of that field that says what.
func wantProblem(t *testing.T, err error, field, says string) {
	t.Helper()
	fe, is := errors.AsType[*limit.FieldError](err)
	if !is {
		t.Fatalf("the error is %v, want a *limit.FieldError", err)
	}
	if fe.Field != field || !strings.Contains(fe.Problem, says) {
		t.Fatalf("the error is %q, want field %q and a problem with %q", fe, field, says)
	}
}

// newLogger makes a logger that writes lines.
func newLogger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
