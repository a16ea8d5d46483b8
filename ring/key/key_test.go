package key_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/ring/key"
)

const secret = "a secret of a cluster"

func newKey(t *testing.T, secret string) *key.Key {
	t.Helper()
	k, err := key.New([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestReadMakesTheKeyOfTheText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for _, text := range []string{secret, secret + "\n", "\t " + secret + "\r\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := key.Read(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if k.Token() != newKey(t, secret).Token() {
			t.Errorf("%q is another key than %q", text, secret)
		}
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := key.Read(filepath.Join(dir, "none"), false); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "cluster key file") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := key.Read(dir, false); err == nil {
		t.Error("a directory is a key")
	}
	for text, want := range map[string]string{
		"":                                "at least 16 bytes, and this one has 0",
		"\ufeff" + secret:                 "begins with a byte order mark",
		secret + "\n---\n\ufeff" + secret: "key 2 of 2: it begins with a byte order mark",
		"fifteen letters":                 "at least 16 bytes, and this one has 15",
		"  fifteen letters\n\n\n\n":       "at least 16 bytes, and this one has 15",
		strings.Repeat("x", 4097):         "at most 4096 bytes",
		strings.Repeat("x", 10*1000*10):   "at most 4096 bytes",
	} {
		path := filepath.Join(dir, "key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := key.Read(path, false); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%d bytes: %v, want %q and the file's name", len(text), err, want)
		}
	}
}

// What is derived must never change between versions: the nodes of a cluster would not know each other.
func TestDerivedKeysAreFixed(t *testing.T) {
	k := newKey(t, secret)
	if got := k.Token(); got != "9bb68e40537b8ec731f0d4047565a95ad0803661fa2b9ab348f146c533dbf952" {
		t.Errorf("the token is %s", got)
	}
	if got := hex.EncodeToString(k.GossipKeys()[0]); got != "37439d6ee973e7aa4d76ffce820a6ffaca91fc459885895a6cbffb699f0970cc" {
		t.Errorf("the gossip key is %s", got)
	}
}

func TestDerivedKeysDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, secret := range []string{secret, secret + "!"} {
		k := newKey(t, secret)
		seed := shownBy(t, k.TLS()).PrivateKey.(interface{ Seed() []byte }).Seed()
		for what, derived := range map[string]string{"token": k.Token(), "gossip": hex.EncodeToString(k.GossipKeys()[0]), "tls": hex.EncodeToString(seed)} {
			what += " of " + secret
			if len(derived) != 64 {
				t.Errorf("the %s has %d digits, want 64", what, len(derived))
			}
			if other, twice := seen[derived]; twice {
				t.Errorf("the %s is the %s", what, other)
			}
			seen[derived] = what
		}
	}
}

func TestAKeyIsNotPrinted(t *testing.T) {
	k := newKey(t, secret)
	shown := new(bytes.Buffer)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(shown, verb+" ", k)
	}
	if want := strings.Repeat("(cluster key) ", 7); shown.String() != want {
		t.Errorf("it prints %q", shown)
	}
}
