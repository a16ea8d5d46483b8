package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
)

// aSecureNode is a node of a cluster of one whose callers show certificates.
func aSecureNode(t *testing.T, ca *authority.Authority, keyFile string) *node.Node {
	t.Helper()
	limits := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(limits, []byte(sampleLimits), 0o600); err != nil {
		t.Fatal(err)
	}
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "node"), ca)
	n, err := node.Open(node.Config{
		Data: t.TempDir(), Name: "test", Limits: limits, Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
		ClusterKeyFile: keyFile, TLSCert: files.Cert, TLSKey: files.Key, TLSCA: files.CA,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return n
}

// Every verb that asks a node does so with a certificate, with the cluster key, or with both; options and environment alike.
func TestVerbsWithCertificates(t *testing.T) {
	dir := t.TempDir()
	keyFile, document := filepath.Join(dir, "key"), filepath.Join(dir, "limits.yaml")
	for path, text := range map[string]string{keyFile: "the secret of this cluster", document: sampleLimits} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ca, foreign := authority.New(t, "ours"), authority.New(t, "theirs")
	n := aSecureNode(t, ca, keyFile)
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "caller"), ca)
	others := authority.Write(t, t.TempDir(), foreign.Issue(t, "caller"), ca)
	certificate, other, byKey := files.Args(), others.Args(), []string{"--cluster-key-file", keyFile}
	env := map[string]string{"JETON_TLS_CERT": files.Cert, "JETON_TLS_KEY": files.Key, "JETON_TLS_CA": files.CA}

	const reads, operates = false, true
	for args, kind := range map[string]bool{
		"check demo k": reads, "bucket demo k": operates, "limits get": reads, "cluster status": reads,
		"limits apply -f " + document: operates,
	} {
		for _, tt := range []struct {
			name string
			more []string
			env  map[string]string
			want string // in stderr; empty if it works
		}{
			{"plain", nil, nil, "requires TLS"},
			{"certificate", certificate, nil, ""},
			{"certificate from the environment", nil, env, ""},
			{"foreign certificate", other, nil, "node at " + n.GRPCAddr()},
			{"key", byKey, nil, ""},
			{"both", append(certificate, byKey...), nil, ""},
			{"foreign certificate and key", append(other, byKey...), nil, ""},
			{"key and certificate from the environment", byKey, env, ""},
			{"half a certificate", certificate[:4], nil, "tls-ca: is missing: give all three"},
		} {
			want := tt.want
			if kind == operates && strings.HasPrefix(tt.name, "certificate") {
				want = "needs the cluster key"
			}
			all := append(append(strings.Fields(args), "--server", n.GRPCAddr(), "--timeout", "30s"), tt.more...)
			stdout, stderr, code := jeton(t, tt.env, all...)
			if (code == cli.ExitOK) != (want == "") || !strings.Contains(stderr, want) {
				t.Errorf("%s, %s: exit code %d, %q, %q; want %q", args, tt.name, code, stdout, stderr, want)
			}
		}
	}
}

func TestServeRefusesSecrets(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, tt := range []struct{ args, want string }{
		{"--tls-cert a --tls-key b", "tls-ca: is missing"},
		{"--tls-cert /does/not/exist --tls-key b --tls-ca c --cluster-key-file /does/not/exist", "/does/not/exist"},
		{"--tls-cert a --tls-key b --tls-ca c", "--cluster-key-file"},
		{"--admin-token-file /does/not/exist", "admin-token-file: "},
		{"--listen-http 0.0.0.0:0", "--admin-token-file"},
	} {
		args := append([]string{"serve", "--data", data, "--listen-grpc", "127.0.0.1:0"}, strings.Fields(tt.args)...)
		if _, stderr, code := jeton(t, nil, args...); code != cli.ExitError || !strings.Contains(stderr, tt.want) {
			t.Errorf("jeton serve %s: exit code %d, %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
}
