package key_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring/key"
)

const nextSecret = "the secret that comes next"

// textOf is the text of a file with several secrets.
func textOf(secrets ...string) string { return strings.Join(secrets, "\n---\n") + "\n" }

// A keyFile is a file, and the key that follows it.
type keyFile struct {
	*key.Key
	t    *testing.T
	path string
}

func newKeyFile(t *testing.T, secrets ...string) *keyFile {
	t.Helper()
	f := &keyFile{t: t, path: filepath.Join(t.TempDir(), "key")}
	f.write(textOf(secrets...))
	k, err := key.Read(f.path, false)
	if err != nil {
		t.Fatal(err)
	}
	f.Key = k
	return f
}

func (f *keyFile) write(text string) {
	f.t.Helper()
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// put has the key follow other secrets.
func (f *keyFile) put(secrets ...string) {
	f.t.Helper()
	f.write(textOf(secrets...))
	if changed, err := f.Reload(); err != nil || !changed {
		f.t.Fatalf("a file with %d secrets: changed: %v, %v", len(secrets), changed, err)
	}
}

func TestFilesWithSeveralSecrets(t *testing.T) {
	for text, want := range map[string]string{
		textOf(secret, nextSecret):                                     "",
		secret + "\r\n---\r\n" + nextSecret + "\r\n":                   "",
		secret + "\n  ---  \n\n" + nextSecret:                          "",
		"two lines of\na single secret":                                "",
		"no separator: --- is within a line":                           "",
		secret + "\n--\n" + nextSecret:                                 "line 2 is \"--\": between two keys stands a line ---",
		secret + "\n\n -----\r\n" + nextSecret:                         "line 3 is \"-----\": between two keys stands a line ---",
		secret + "\n- - -\n" + nextSecret:                              "line 2 is \"- - -\": between two keys stands a line ---",
		secret + "\n—\n" + nextSecret:                                  "line 2 is \"—\": between two keys stands a line ---",
		secret + "\n" + nextSecret:                                     "",
		textOf(secret, ""):                                             "key 2 of 2: a cluster key has at least 16 bytes, and this one has 0",
		textOf(secret, "short"):                                        "key 2 of 2: a cluster key has at least 16 bytes, and this one has 5",
		"---\n" + secret:                                               "key 1 of 2: a cluster key has at least 16 bytes, and this one has 0",
		textOf(secret, nextSecret, " "+secret+" "):                     "keys 1 and 3 are the same",
		textOf(secret, strings.Repeat("x", key.MaxSecret+1)):           "key 2 of 2: a cluster key has at most 4096 bytes",
		textOf(secret, secret+"2", secret+"3", secret+"4", secret+"5"): "it has 5 keys: a file holds at most 4",
	} {
		_, err := key.New([]byte(text))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text[:min(len(text), 60)], err, want)
		}
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), nextSecret)) {
			t.Errorf("the error shows a secret: %v", err)
		}
	}
}

// Of several secrets the first one is shown, and all are accepted: for each step of a rotation, a node that has taken it and one that
// has not understand each other.
func TestNeighboursInARotation(t *testing.T) {
	steps := [][]string{{secret}, {secret, nextSecret}, {nextSecret, secret}, {nextSecret}}
	for i := range steps {
		for j := range steps {
			a, b := newKey(t, textOf(steps[i]...)), newKey(t, textOf(steps[j]...))
			together := max(i-j, j-i) <= 1
			if o := talk(t, a.TLS(), b.TLS()); (o.answered == "welcome") != together {
				t.Errorf("TLS of step %d and %d: %+v", i, j, o)
			}
			if opens(a, b) && opens(b, a) != together {
				t.Errorf("gossip of step %d and %d: they understand each other: %v", i, j, !together)
			}
			if a.HasToken(b.Token()) && b.HasToken(a.Token()) != together {
				t.Errorf("tokens of step %d and %d: they count: %v", i, j, !together)
			}
		}
	}
}

// opens says whether b opens what a has sealed.
func opens(a, b *key.Key) bool {
	first := a.Seals()[0]
	nonce := make([]byte, first.NonceSize())
	sealed := first.Seal(nil, nonce, []byte("hello"), nil)
	for _, s := range b.Seals() {
		if text, err := s.Open(nil, nonce, sealed, nil); err == nil && string(text) == "hello" {
			return true
		}
	}
	return false
}

// A configuration of TLS that was made before follows the file.
func TestTLSFollowsTheFile(t *testing.T) {
	f := newKeyFile(t, secret)
	server := f.TLS()
	understand := func(secrets string) bool { return talk(t, server, newKey(t, secrets).TLS()).answered == "welcome" }
	if !understand(secret) || understand(nextSecret) {
		t.Fatal("before: only the first secret is to be accepted")
	}
	f.put(secret, nextSecret)
	if !understand(secret) || understand(nextSecret) || !understand(textOf(nextSecret, secret)) {
		t.Error("with both: who accepts the first one is to be understood, whatever it shows")
	}
	f.put(nextSecret, secret)
	if understand(secret) || !understand(nextSecret) || !understand(textOf(secret, nextSecret)) {
		t.Error("with both, the next one first: who accepts it is to be understood, whatever it shows")
	}
	f.put(nextSecret)
	if understand(secret) || !understand(nextSecret) || understand(textOf(secret, nextSecret)) {
		t.Error("without the old one: who shows it is to be refused")
	}
	if f.HasToken(newKey(t, secret).Token()) || !f.HasToken(newKey(t, nextSecret).Token()) {
		t.Error("the token of the dropped secret counts, or that of the other one does not")
	}
}

// A file by which a node would leave out a step is refused, and so is one that is wrong; the secrets in force stay.
func TestStepsThatAreLeftOut(t *testing.T) {
	for _, tt := range []struct {
		now, next []string
		want      string
	}{
		{[]string{secret}, []string{nextSecret}, "the key that this node shows to others is not in it any more"},
		{[]string{secret}, []string{nextSecret, secret}, "its first key is one that this node does not accept yet"},
		{[]string{secret, nextSecret}, []string{nextSecret}, "the key that this node shows to others is not in it any more"},
		{[]string{secret}, []string{"short"}, "at least 16 bytes"},
		{[]string{secret, nextSecret}, []string{secret, nextSecret}, "unchanged"},
		{[]string{secret, nextSecret}, []string{secret}, ""}, // it is given up
		{[]string{nextSecret, secret}, []string{secret, nextSecret}, ""},
	} {
		f := newKeyFile(t, tt.now...)
		called := 0
		stop := f.OnChange(func() { called++ })
		f.write(textOf(tt.next...))
		changed, err := f.Reload()
		switch {
		case tt.want == "unchanged":
			if changed || err != nil || called != 0 {
				t.Errorf("the same file: changed: %v, %v", changed, err)
			}
		case tt.want == "":
			if !changed || err != nil || called != 1 {
				t.Errorf("%d secrets after %d: changed: %v, %v, told %d times", len(tt.next), len(tt.now), changed, err, called)
			}
		case changed || err == nil || !strings.Contains(err.Error(), tt.want) || f.Token() != newKey(t, tt.now[0]).Token() || called != 0:
			t.Errorf("changed: %v, %v, told %d times; want %q", changed, err, called, tt.want)
		}
		stop()
	}
}

// Who has proved a secret by an open connection is cut off when the secret is dropped, at both ends; and connections are opened anew
// when another one is to be shown.
func TestConnectionsEndWithTheirSecret(t *testing.T) {
	server, client := newKeyFile(t, secret, nextSecret), newKeyFile(t, secret, nextSecret)
	if !cutBy(t, server, client, func() { server.put(nextSecret, secret) }) {
		t.Error("a connection on which the server has shown what it shows no more stays open")
	}
	if !cutBy(t, server, client, func() { server.put(nextSecret) }) {
		t.Error("a connection whose client has shown the dropped secret stays open")
	}
	server, client = newKeyFile(t, secret, nextSecret), newKeyFile(t, nextSecret, secret)
	if !cutBy(t, server, client, func() { client.put(nextSecret) }) {
		t.Error("a connection whose server has shown the dropped secret stays open")
	}
	if cutBy(t, newKeyFile(t, nextSecret, secret), newKeyFile(t, nextSecret, secret), func() {}) {
		t.Error("a connection ends by itself")
	}
	server = newKeyFile(t, nextSecret, secret)
	if cutBy(t, server, newKeyFile(t, nextSecret, secret), func() { server.put(nextSecret) }) {
		t.Error("a connection over the secret that stays is closed")
	}
}

// cutBy says whether a connection that both ends hold is closed by a change.
func cutBy(t *testing.T, server, client *keyFile, change func()) bool {
	t.Helper()
	here, there := net.Pipe()
	accepted, dialed := tls.Server(here, server.TLS()), tls.Client(there, client.TLS())
	done := make(chan error, 1)
	go func() { done <- accepted.HandshakeContext(t.Context()) }()
	if err := errors.Join(dialed.HandshakeContext(t.Context()), <-done); err != nil {
		t.Fatal(err)
	}
	s := server.Hold(accepted, here, accepted.ConnectionState())
	c := client.Hold(dialed, there, dialed.ConnectionState())
	defer func() {
		_, _ = here.Close(), there.Close()
		_, _ = s.Close(), c.Close() // which are cut
		if n := openOf(server) + openOf(client); n != 0 {
			t.Errorf("%d connections are counted that are closed", n)
		}
	}()
	if openOf(server) != 1 || openOf(client) != 1 {
		t.Error("an open connection is not counted")
	}
	change()
	go func() {
		_, err := s.Write([]byte("x"))
		done <- err
	}()
	_, err := io.ReadFull(c, make([]byte, 1))
	return errors.Join(err, <-done) != nil
}

// openOf is how many connections are open.
func openOf(f *keyFile) (n int) {
	for _, u := range f.Uses() {
		n += u.Open
	}
	return n
}

func TestUsesAreTold(t *testing.T) {
	k := newKeyFile(t, secret, nextSecret)
	before := k.Uses()
	if len(before) != 2 || before[0].Name == before[1].Name || !before[0].Last.IsZero() || len(before[0].Name) != 4 {
		t.Fatalf("before anything was proved: %+v", before)
	}
	k.HasToken(newKey(t, nextSecret).Token())
	k.HasToken("neither of them")
	if cutBy(t, k, newKeyFile(t, secret, nextSecret), func() {}) {
		t.Fatal("a connection ends by itself")
	}
	k.Seals()[1].Opened()
	after := k.Uses()
	if after[0].Times[key.OverTLS] == 0 || after[0].Times[key.OverToken] != 0 || after[0].Last.IsZero() {
		t.Errorf("the first one: %+v", after[0])
	}
	if after[1].Times[key.OverToken] != 1 || after[1].Times[key.OverGossip] != 1 || after[1].Times[key.OverTLS] != 0 || after[1].Last.IsZero() {
		t.Errorf("the second one: %+v", after[1])
	}
	if newKey(t, secret).Uses()[0].Name != before[0].Name {
		t.Error("the name of a secret is another one in another file")
	}
}

// TestACopiedCertificateIsNoUse checks that a stranger who shows the certificate of a secret, which each server shows to anybody, and
// cannot prove to have the secret, is not told of as one that uses it: a rotation would wait for it forever.
func TestACopiedCertificateIsNoUse(t *testing.T) {
	copied := shownBy(t, config(t, secret)).Certificate
	k := newKey(t, textOf(nextSecret, secret))
	for range 3 {
		own := stranger(t, false)
		own.Certificate = copied
		if o := talk(t, k.TLS(), &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{own}}); o.server == nil {
			t.Fatalf("the stranger got in: %+v", o)
		}
	}
	if u := k.Uses()[1]; u.Times[key.OverTLS] != 0 || !u.Last.IsZero() {
		t.Errorf("a stranger counts as a user of the secret: %+v", u)
	}
}
