package credentials_test

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/credentials"
)

// A lateProof is a client's connection on which something happens between its certificate and the proof that it has the private key: the
// first and the second record that are encrypted.
type lateProof struct {
	net.Conn

	before  func()
	records int // that were encrypted
}

// Write implements net.Conn. TLS writes whole records.
func (c *lateProof) Write(data []byte) (n int, err error) {
	const head, encrypted = 5, 23
	for n < len(data) && err == nil {
		record := data[n : n+head+int(binary.BigEndian.Uint16(data[n+3:]))]
		if record[0] == encrypted {
			if c.records++; c.records == 2 {
				c.before()
			}
		}
		if _, err = c.Conn.Write(record); err == nil {
			n += len(record)
		}
	}
	return n, err
}

// TestAKeyIsDroppedDuringAHandshake has a client show a secret that is dropped before it proves to have it: TLS has checked the certificate
// then. Such a client is neither a node nor a caller with a certificate.
func TestAKeyIsDroppedDuringAHandshake(t *testing.T) {
	for what, callers := range map[string]func() (*tls.Config, error){
		"with certificates":    func() (*tls.Config, error) { return nil, errors.New("the client asks for the cluster key") },
		"without certificates": nil,
	} {
		t.Run(what, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { dropDuringHandshake(t, callers) }) })
	}
}

func dropDuringHandshake(t *testing.T, callers func() (*tls.Config, error)) {
	t.Helper()
	const dropped, kept = "the secret of yesterday", "the secret of tomorrow"
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(kept+"\n---\n"+dropped), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := key.Read(file, false)
	if err != nil {
		t.Fatal(err)
	}
	client, err := key.New([]byte(dropped + "\n---\n" + kept))
	if err != nil {
		t.Fatal(err)
	}
	port, err := credentials.NewPort(credentials.PortConfig{Key: server, Callers: callers})
	if err != nil {
		t.Fatal(err)
	}
	defer port.Stop()

	here, there := net.Pipe()
	done := make(chan struct{})
	late := &lateProof{Conn: there, before: func() {
		synctest.Wait() // the server has checked the certificate
		err := os.WriteFile(file, []byte(kept), 0o600)
		if changed, failed := server.Reload(); err != nil || failed != nil || !changed {
			t.Errorf("the key was not dropped: %v, %v", err, failed)
		}
	}}
	go func() {
		defer close(done)
		conn := tls.Client(late, client.TLS())
		_ = conn.Handshake() //nolint:noctx // the other end of the pipe is closed
		_, _ = io.Copy(io.Discard, conn)
		_ = there.Close()
	}()
	conn, _, err := port.ServerHandshake(here)
	if err == nil {
		t.Error("a client that has shown a dropped secret is let in")
		_ = conn.Close()
	} else if !errors.Is(err, key.ErrOtherKey) {
		t.Errorf("it is refused because %v", err)
	}
	_ = here.Close()
	<-done
}
