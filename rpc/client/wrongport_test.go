package client_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/fakenodes"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// listener takes connections, which end when do returns or with the test.
func listener(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			do(conn)
		}
	}()
	t.Cleanup(func() {
		l.Close() //nolint:errcheck // nothing was written
		<-ended
	})
	return l.Addr().String()
}

// keepsSilent is the address of who takes connections and never says a word.
func keepsSilent(t *testing.T) string {
	t.Helper()
	var (
		mu   sync.Mutex
		open []net.Conn
	)
	at := listener(t, func(c net.Conn) {
		mu.Lock()
		defer mu.Unlock()
		open = append(open, c)
	})
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range open {
			c.Close() //nolint:errcheck // nothing was written
		}
	})
	return at
}

// gossip is the address of a node of memberlist.
func gossip(t *testing.T) string {
	t.Helper()
	cfg := memberlist.DefaultLocalConfig()
	cfg.BindAddr, cfg.BindPort, cfg.Logger = "127.0.0.1", 0, log.New(io.Discard, "", 0)
	list, err := memberlist.Create(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { list.Shutdown() }) //nolint:errcheck // nobody is there
	return list.LocalNode().Address()
}

// TestWrongPort asks listeners of each kind over gRPC: the error says what is wrong with the address.
func TestWrongPort(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }) //nolint:errcheck // the test sees
	overHTTP, overHTTPS := httptest.NewServer(page), httptest.NewUnstartedServer(page)
	overHTTPS.Config.ErrorLog = log.New(io.Discard, "", 0)
	overHTTPS.StartTLS()
	t.Cleanup(overHTTP.Close)
	t.Cleanup(overHTTPS.Close)
	mine, trusted := certificate(t)
	_, others := certificate(t)
	secured := fakenodes.StartSpec(t, fakenodes.Spec{Admin: pb.UnimplementedAdminServer{}, Options: []grpc.ServerOption{
		grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{mine}, MinVersion: tls.VersionTLS13})),
	}}).Address
	open := fakenodes.StartSpec(t, fakenodes.Spec{Admin: pb.UnimplementedAdminServer{}}).Address
	plain, trusting := (*tls.Config)(nil), &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS13}
	foreign := &tls.Config{RootCAs: others, MinVersion: tls.VersionTLS13}
	gossips := gossip(t)
	breaks := listener(t, func(c net.Conn) { c.Close() }) //nolint:errcheck // that is what it is for
	silent := keepsSilent(t)
	const checks = "nodes take checks at --listen-grpc, 7700 by default"
	for name, c := range map[string]struct {
		address string
		secure  *tls.Config
		want    string
	}{
		"HTTP":                      {overHTTP.Listener.Addr().String(), plain, " speaks HTTP, not gRPC: " + checks},
		"HTTP, asked over TLS":      {overHTTP.Listener.Addr().String(), trusting, " speaks HTTP, not gRPC: " + checks},
		"HTTPS":                     {overHTTPS.Listener.Addr().String(), plain, " speaks HTTPS, not gRPC: " + checks},
		"gossip":                    {gossips, plain, " takes connections and speaks neither gRPC nor HTTP, as ports of gossip and raft do: " + checks},
		"gossip, asked over TLS":    {gossips, trusting, " takes connections and speaks neither gRPC nor HTTP, as ports of gossip and raft do: " + checks},
		"what breaks off":           {breaks, plain, " takes connections and speaks neither gRPC nor HTTP, as ports of gossip and raft do: " + checks},
		"silence":                   {silent, plain, " takes connections and says nothing: its process may be frozen, or it is a port of another kind: " + checks},
		"silence, asked over TLS":   {silent, trusting, " takes connections and says nothing: its process may be frozen, or it is a port of another kind: " + checks},
		"gRPC over TLS, in plain":   {secured, plain, " speaks TLS, and was asked in plain text: show a certificate with --tls-cert"},
		"gRPC in plain, over TLS":   {open, trusting, " speaks plain text, not TLS: leave out --tls-cert"},
		"gRPC, foreign authority":   {secured, foreign, "is not from an authority that is trusted here: see --tls-ca"},
		"nothing":                   {nowhere, plain, "connection refused"},
		"nothing, asked over TLS":   {nowhere, trusting, "connection refused"},
		"gRPC, one that refuses it": {open, plain, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var wrong string
			for range 5 { // what has not answered within 300 ms seems silent
				if wrong = complaint(t, c.address, c.secure, c.want); wrong == "" {
					return
				}
			}
			t.Error(wrong)
		})
	}
}

// complaint is what is wrong with the error of a check at an address that is to say want; want is empty for none.
func complaint(t *testing.T, address string, secure *tls.Config, want string) (wrong string) {
	t.Helper()
	c := connect(t, client.Config{Server: address, TLS: secure, Timeout: 30 * time.Second})
	_, err := c.Check(t.Context(), check("k"))
	switch {
	case want == "" && err != nil:
		return fmt.Sprintf("it does not answer: %v", err)
	case want == "":
	case err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), address) || !errors.Is(err, limit.ErrUnavailable):
		return fmt.Sprintf("got: %v\nwant: %s%s", err, address, want)
	}
	return ""
}

// nowhere is an address at which nobody listens, nor anybody is given to listen at.
const nowhere = "127.0.0.1:1"
