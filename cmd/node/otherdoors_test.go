package node_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
)

// A node answers at the doors that it was told to open, from the buckets that it keeps, and at no other.
func TestDoorsOfANode(t *testing.T) {
	rules := t.TempDir()
	if err := os.WriteFile(filepath.Join(rules, "d.yaml"), []byte("{domain: d, descriptors: [{key: user, rate_limit: {unit: year, requests_per_unit: 2}}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := node.Config{Data: t.TempDir(), ListenGRPC: "127.0.0.1:0", ListenRedis: "127.0.0.1:0", Doors: []string{"gubernator", "rls", "rlqs"}, RLSConfig: rules, Logger: slog.New(slog.DiscardHandler)}
	cfg.RedisTokenFile = writeFile(t, "redis-tokens", fileToken+"\n")
	n := open(t, cfg)
	conn := dial(t, n, caller{insecure.NewCredentials(), ""})
	defer conn.Close() //nolint:errcheck // it has been answered

	envoy := ratelimitv3.NewRateLimitServiceClient(conn)
	for i, want := range []ratelimitv3.RateLimitResponse_Code{ratelimitv3.RateLimitResponse_OK, ratelimitv3.RateLimitResponse_OK, ratelimitv3.RateLimitResponse_OVER_LIMIT} {
		a, err := envoy.ShouldRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{
			Domain: "d", Descriptors: []*commonv3.RateLimitDescriptor{{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "user", Value: "42"}}}},
		})
		if err != nil || a.GetOverallCode() != want {
			t.Errorf("Envoy's request %d: %v, %v, want %v", i, a, err, want)
		}
	}

	quotas, err := rlqsv3.NewRateLimitQuotaServiceClient(conn).StreamRateLimitQuotas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := quotas.Send(&rlqsv3.RateLimitQuotaUsageReports{Domain: "d", BucketQuotaUsages: []*rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{
		{BucketId: &rlqsv3.BucketId{Bucket: map[string]string{"limit": "none", "key": "k"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	if a, err := quotas.Recv(); err != nil || len(a.GetBucketAction()) != 1 {
		t.Errorf("Envoy's quotas: %v, %v", a, err)
	}

	hits, err := gubernatorpb.NewV1Client(conn).GetRateLimits(t.Context(), &gubernatorpb.GetRateLimitsReq{Requests: []*gubernatorpb.RateLimitReq{
		{Name: "n", UniqueKey: "k", Hits: 7, Limit: 10, Duration: 60_000}, {Name: "n", UniqueKey: "k", Hits: 7, Limit: 10, Duration: 60_000},
	}})
	if err != nil || len(hits.GetResponses()) != 2 || hits.GetResponses()[0].GetRemaining() != 3 || hits.GetResponses()[1].GetStatus() != gubernatorpb.Status_OVER_LIMIT {
		t.Errorf("gubernator's: %v, %v", hits, err)
	}
	health, err := gubernatorpb.NewV1Client(conn).HealthCheck(t.Context(), &gubernatorpb.HealthCheckReq{})
	if err != nil || health.GetStatus() != "healthy" || health.GetPeerCount() != 1 {
		t.Errorf("gubernator's health check: %v, %v", health, err)
	}

	for token, want := range map[string]string{fileToken: "[0 10 9 -1 6]", "": "NOAUTH", "wrong": "WRONGPASS"} {
		c := redis.NewClient(&redis.Options{Addr: n.RedisAddr(), Password: token, Protocol: 2, DisableIdentity: true, MaxRetries: -1, ReadTimeout: time.Minute})
		got := c.Do(t.Context(), "CL.THROTTLE", "k", 9, 10, 60)
		if says := strings.TrimSpace(strings.Join([]string{textOf(got.Err()), valueOf(got)}, " ")); !strings.HasPrefix(says, want) {
			t.Errorf("Redis with token %q: %s, want %s", token, says, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}

	cfg = node.Config{Data: t.TempDir(), ListenGRPC: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)}
	closed := open(t, cfg)
	conn = dial(t, closed, caller{insecure.NewCredentials(), ""})
	defer conn.Close() //nolint:errcheck // likewise
	if _, err := gubernatorpb.NewV1Client(conn).HealthCheck(t.Context(), &gubernatorpb.HealthCheckReq{}); status.Code(err) != codes.Unimplemented || closed.RedisAddr() != "" {
		t.Errorf("of a node without doors: %v, and Redis at %q", err, closed.RedisAddr())
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func valueOf(c *redis.Cmd) string {
	if c.Err() != nil {
		return ""
	}
	return strings.TrimSuffix(strings.SplitAfter(c.String(), ": ")[1], " ")
}

// What a door needs and is not given, and who may reach the one for Redis' protocol.
func TestDoorsThatCannotOpen(t *testing.T) {
	for what, c := range map[string]struct {
		cfg  node.Config
		says string
	}{
		"an unknown one":              {node.Config{Doors: []string{"resp"}}, `doors: unknown door "resp": use gubernator, kuadrant, rls`},
		"a port as a name":            {node.Config{Doors: []string{"redis"}}, "doors: redis is a port of its own: give it an address with --listen-redis"},
		"files without their door":    {node.Config{Doors: []string{"gubernator"}, RLSConfig: "."}, "rls-config, rls-headers, rls-metadata: are for the door rls"},
		"tokens without their port":   {node.Config{RedisTokenFile: "tokens"}, "redis-token-file: is for clients that speak Redis' protocol"},
		"one of gateways":             {node.Config{Doors: []string{"extauthz"}}, "doors: door extauthz: needs the routes of a gateway's document"},
		"kuadrant without limits":     {node.Config{Doors: []string{"kuadrant"}}, "give --kuadrant-config"},
		"limits without kuadrant":     {node.Config{KuadrantConfig: "."}, "kuadrant-config: is for the door kuadrant"},
		"a file that is missing":      {node.Config{Doors: []string{"kuadrant"}, KuadrantConfig: "no-such-file"}, "no-such-file"},
		"rls without limits":          {node.Config{Doors: []string{"rls"}}, "give --rls-config"},
		"a directory that is missing": {node.Config{Doors: []string{"rls"}, RLSConfig: "no-such-directory"}, "no-such-directory"},
		"Redis beyond loopback":       {node.Config{ListenRedis: "0.0.0.0:0"}, "listen-redis: 0.0.0.0:0 can be reached from other machines"},
		"a token file that is not":    {node.Config{ListenRedis: "127.0.0.1:0", RedisTokenFile: "no-such-file"}, "redis-token-file: "},
	} {
		t.Run(what, func(t *testing.T) {
			cfg := c.cfg
			cfg.Data, cfg.ListenGRPC, cfg.Logger = t.TempDir(), "127.0.0.1:0", slog.New(slog.DiscardHandler)
			n, err := node.Open(cfg)
			if err == nil {
				t.Error(n.Close(t.Context()))
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want an error with %q", err, c.says)
			}
		})
	}
}

// A node whose files of doors have mistakes says so, and strictly it is not ready, until they are right.
func TestReadyWithBrokenFilesOfDoors(t *testing.T) {
	dir := t.TempDir()
	limits, rules := filepath.Join(t.TempDir(), "limits.yaml"), filepath.Join(dir, "rules.yaml")
	for path, text := range map[string]string{limits: "[{namespace: a\n", rules: "domain: d\ndescriptors: [{key: a, rate_limit: {unit: never}}]\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, err := node.Open(node.Config{
		Data: t.TempDir(), ListenGRPC: "127.0.0.1:0", ListenHTTP: "127.0.0.1:0", Doors: []string{"kuadrant", "rls"}, KuadrantConfig: limits, RLSConfig: dir, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	ready := func(query string) (code int, body string) {
		t.Helper()
		r, err := http.Get("http://" + n.HTTPAddr() + "/readyz" + query) //nolint:noctx // it is local
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	for query, want := range map[string]int{"": http.StatusOK, "?strict": http.StatusServiceUnavailable} {
		code, body := ready(query)
		if code != want || !strings.HasPrefix(body, "degraded: kuadrant: no limits are in force, and every call fails: "+limits+":") || !strings.Contains(body, "; rls: no rules are in force") {
			t.Errorf("/readyz%s: %d %s, want %d", query, code, body, want)
		}
	}
	for path, text := range map[string]string{limits: "[]", rules: "domain: d\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(time.Minute); ; <-ticker.C {
		code, body := ready("?strict")
		if code == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("with files that are right: %d %s", code, body)
		}
	}
}
