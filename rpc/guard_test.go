package rpc

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/conformance"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
)

const (
	oneToken     = "0123456789abcdef"
	anotherToken = "another-token-of-operators"
)

// newTokens are that of a key, which may be nil, and oneToken in a file.
func newTokens(t *testing.T, k *key.Key) *credentials.Tokens {
	t.Helper()
	cfg := credentials.TokensConfig{Key: k, File: filepath.Join(t.TempDir(), "tokens")}
	if err := os.WriteFile(cfg.File, []byte(oneToken), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := credentials.NewTokens(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// Whoever may check may not fill buckets: over gRPC that takes the key or a token, as it does over HTTP.
func TestWhoMayFillOverGRPC(t *testing.T) {
	ours := newKey(t, "the secret of this cluster")
	byFile := newTokens(t, ours)
	for _, tt := range []struct {
		what   string
		key    *key.Key
		tokens *credentials.Tokens
		shown  string // a token
		may    bool
		says   string
	}{
		{"nobody has anything", nil, nil, "", true, ""},
		{"a stranger", ours, byFile, "", false, "--cluster-key-file or --token-file"},
		{"a stranger at a node without tokens", ours, nil, "", false, "--cluster-key-file"},
		{"a wrong token", ours, byFile, oneToken + "0", false, "does not know this token"},
		{"a token of the file", ours, byFile, oneToken, true, ""},
		{"the token of the key", ours, byFile, ours.Token(), true, ""},
		{"tokens alone, and none shown", nil, newTokens(t, nil), "", false, "--admin-token-file"},
		{"tokens alone", nil, newTokens(t, nil), oneToken, true, ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s, err := New(Config{Limiter: conformance.NewNoonModel(t), Key: tt.key, Tokens: tt.tokens})
			if err != nil {
				t.Fatal(err)
			}
			c, err := client.New(client.Config{Server: listen(t, s), Timeout: time.Minute, Token: func() string { return tt.shown }})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close() //nolint:errcheck // it has been answered
			for range 11 {
				if _, err := c.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("demo")}, Cost: 1}); err != nil {
					t.Fatal(err)
				}
			}
			_, looked := c.Inspect(t.Context(), "k", limit.Named("demo"), "")
			filled := c.Reset(t.Context(), "k", limit.Named("demo"))
			for _, err := range []error{looked, filled} {
				if tt.may != (err == nil) {
					t.Errorf("%v; it may: %v", err, tt.may)
				}
				if !tt.may {
					wantText(t, err, tt.says)
				}
			}
			d, err := c.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("demo")}, Cost: 1})
			if err != nil || d.Allowed != tt.may {
				t.Errorf("after that it is allowed: %v, %v", d.Allowed, err)
			}
		})
	}
}

// Of several tokens none counts, and no other form does.
func TestOddTokensOverGRPC(t *testing.T) {
	s, conn := serve(t, Config{Limiter: conformance.Stub{}, Tokens: newTokens(t, nil)})
	_ = s
	for _, tt := range []struct {
		says []string
		why  string // empty if it counts
	}{
		{nil, "needs an operator's token: give --token-file"},
		{[]string{"Bearer " + oneToken}, ""},
		{[]string{"bearer " + oneToken}, ""},
		{[]string{oneToken}, "needs an operator's token"},
		{[]string{"Bearer " + anotherToken}, "does not know this token: give a token of the node's --admin-token-file"},
		{[]string{"Bearer " + oneToken, "Bearer " + oneToken}, "needs an operator's token"},
		{[]string{"Basic " + oneToken}, "needs an operator's token"},
	} {
		ctx := metadata.NewOutgoingContext(t.Context(), metadata.MD{"authorization": tt.says})
		_, err := pb.NewLimiterClient(conn).Reset(ctx, &pb.ResetRequest{Key: "k", Limit: pb.EncodeRef(limit.Named("demo"))})
		if tt.why == "" {
			if err != nil {
				t.Errorf("%q: %v", tt.says, err)
			}
			continue
		}
		wantCode(t, err, codes.Unauthenticated, tt.why)
	}
	if _, err := pb.NewLimiterClient(conn).Check(context.WithoutCancel(t.Context()), checkMessage("k")); err != nil {
		t.Errorf("a check: %v", err)
	}
}
