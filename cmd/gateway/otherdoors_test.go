package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rlqsv3 "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/rpc/doors"
	"github.com/jeton-dev/jeton/rpc/pb/gubernatorpb"
	"github.com/jeton-dev/jeton/rpc/pb/kuadrantpb"
)

// The document knows the doors that there are.
func TestDoorsOfTheDocument(t *testing.T) {
	if got, want := strings.Join(config.GRPCDoors(), ","), strings.Join(doors.Names(), ","); got != want {
		t.Errorf("the document knows %s, and there are %s", got, want)
	}
}

// A gateway answers at the doors of its document: by its routes, and from the buckets of its cluster.
func TestDoorsOfAGateway(t *testing.T) {
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules")
	if err := os.Mkdir(rules, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(rules, "d.yaml"), "{domain: gateway, descriptors: [{key: user, rate_limit: {unit: year, requests_per_unit: 1}}]}")
	write(t, filepath.Join(dir, "kuadrant.yaml"), "[{namespace: gateway, max_value: 10, seconds: 31536000, conditions: [], variables: []}]")
	tokens := filepath.Join(dir, "tokens")
	write(t, tokens, "0123456789abcdef\n")
	if err := os.Chmod(tokens, 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "gateway.yaml")
	write(t, path, "cluster: {servers: ['"+aNode+"'], decide_within: 30s}\nadmin: {listen: '127.0.0.1:0'}\n"+
		"doors: {grpc: [extauthz, gubernator, kuadrant, rls, rlqs], listen: '127.0.0.1:0', rls_config: rules, kuadrant_config: kuadrant.yaml, redis: '127.0.0.1:0', redis_token_file: tokens}\n"+
		"routes: [{name: api, path: /api, checks: [{key: ['door:{ip}'], limits: [two]}]}]\n")
	r := openAt(t, path, Config{})
	conn, err := grpc.NewClient("passthrough:///"+r.DoorsAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it has been answered

	for i, want := range []codes.Code{codes.OK, codes.OK, codes.PermissionDenied} {
		a, err := authv3.NewAuthorizationClient(conn).Check(t.Context(), &authv3.CheckRequest{Attributes: &authv3.AttributeContext{
			Source:  &authv3.AttributeContext_Peer{Address: socket("203.0.113.9")},
			Request: &authv3.AttributeContext_Request{Http: &authv3.AttributeContext_HttpRequest{Method: "GET", Host: "example.com", Path: "/api/x", Scheme: "http"}},
		}})
		if err != nil || (codes.Code(a.GetStatus().GetCode()) == codes.OK) != (want == codes.OK) || want != codes.OK && a.GetDeniedResponse().GetStatus().GetCode() != 429 {
			t.Errorf("Envoy asks for authorization the %d. time: %v, %v, want %v", i+1, a, err, want)
		}
	}
	for i, want := range []ratelimitv3.RateLimitResponse_Code{ratelimitv3.RateLimitResponse_OK, ratelimitv3.RateLimitResponse_OVER_LIMIT} {
		a, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(t.Context(), &ratelimitv3.RateLimitRequest{
			Domain: "gateway", Descriptors: []*commonv3.RateLimitDescriptor{{Entries: []*commonv3.RateLimitDescriptor_Entry{{Key: "user", Value: "42"}}}},
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
		{BucketId: &rlqsv3.BucketId{Bucket: map[string]string{"limit": "two", "key": "k"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	if a, err := quotas.Recv(); err != nil || a.GetBucketAction()[0].GetQuotaAssignmentAction().GetRateLimitStrategy().GetBlanketRule() != typev3.RateLimitStrategy_DENY_ALL {
		t.Errorf("Envoy's quotas of a limit that is not leased: %v, %v", a, err)
	}
	hits, err := gubernatorpb.NewV1Client(conn).GetRateLimits(t.Context(), &gubernatorpb.GetRateLimitsReq{Requests: []*gubernatorpb.RateLimitReq{
		{Name: "n", UniqueKey: "gateway", Hits: 7, Limit: 10, Duration: 60_000},
	}})
	if err != nil || hits.GetResponses()[0].GetRemaining() != 3 {
		t.Errorf("gubernator's: %v, %v", hits, err)
	}
	kuadrant, id := kuadrantpb.NewRateLimitServiceClient(conn), ""
	for i, want := range []ratelimitv3.RateLimitResponse_Code{ratelimitv3.RateLimitResponse_OK, ratelimitv3.RateLimitResponse_OVER_LIMIT} {
		held, err := kuadrant.Reserve(t.Context(), &kuadrantpb.ReserveRequest{Domain: "gateway", Amount: 6})
		if err != nil || held.GetCode() != want {
			t.Errorf("Kuadrant's reservation %d: %v, %v, want %v", i, held, err, want)
		}
		id += held.GetReservationId()
	}
	if a, err := kuadrant.Commit(t.Context(), &kuadrantpb.CommitRequest{Domain: "gateway", ReservationId: id, ActualAmount: 1}); err != nil || !a.GetReservationReleased() {
		t.Errorf("Kuadrant's commit: %v, %v", a, err)
	}
	c := redis.NewClient(&redis.Options{Addr: r.RedisAddr(), Password: "0123456789abcdef", DisableIdentity: true, MaxRetries: -1, ReadTimeout: patience})
	defer c.Close() //nolint:errcheck // likewise
	if got, err := c.Do(t.Context(), "JETON.CHECK", "door:redis", "two").Slice(); err != nil || got[0] != int64(1) || got[2] != int64(1) {
		t.Errorf("Redis: %v, %v", got, err)
	}
}

func socket(address string) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: address}}}
}

// Envoys at a gateway are assigned from the buckets of its cluster.
func TestQuotasOfAGateway(t *testing.T) {
	n, _ := ownCluster(t, "limits: {api: {capacity: 1000, refill: 100/s, consistency: leased}}", true)
	r := open(t, Config{}, "cluster: {servers: ['"+n.GRPCAddr()+"']}\nadmin: {listen: '127.0.0.1:0'}\ndoors: {grpc: [rlqs], listen: '127.0.0.1:0'}\n")
	conn, err := grpc.NewClient("passthrough:///"+r.DoorsAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it has been answered
	quotas, err := rlqsv3.NewRateLimitQuotaServiceClient(conn).StreamRateLimitQuotas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answered, stop := context.WithCancel(t.Context())
	var reports sync.WaitGroup
	reports.Go(func() { // until the gateway has heard of the limit, and longer
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			_ = quotas.Send(&rlqsv3.RateLimitQuotaUsageReports{Domain: "d", BucketQuotaUsages: []*rlqsv3.RateLimitQuotaUsageReports_BucketQuotaUsage{
				{BucketId: &rlqsv3.BucketId{Bucket: map[string]string{"limit": "api", "key": "k"}}},
			}}) // Recv says why it is over
			select {
			case <-tick.C:
			case <-answered.Done():
				tick.Stop()
				return
			}
		}
	})
	defer reports.Wait()
	defer stop()
	r.until(t, "a bucket is assigned", func() bool { // and not only what applies while a node is late
		a, err := quotas.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return a.GetBucketAction()[0].GetQuotaAssignmentAction().GetRateLimitStrategy().GetTokenBucket().GetMaxTokens() > 0
	})
	d, err := n.Check(t.Context(), limit.Request{Key: "k", Look: true, Limits: []limit.Ref{limit.Named("api")}})
	if err != nil || d.Limits[0].Leased == 0 {
		t.Errorf("the node has leased nothing: %+v, %v", d.Limits, err)
	}
}

// The connection of a stranger to a door is closed.
func TestStrangersAtDoors(t *testing.T) {
	r := open(t, Config{}, "cluster: {servers: ['"+aNode+"']}\nadmin: {listen: '127.0.0.1:0'}\ndoors: {grpc: [gubernator], listen: '127.0.0.1:0', redis: '127.0.0.1:0', trusted: [192.0.2.0/24]}\n")
	for _, address := range []string{r.DoorsAddr(), r.RedisAddr()} {
		c, err := net.Dial("tcp", address) //nolint:noctx // loopback
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
			t.Log(err) // it was closed already
		}
		said, _ := io.ReadAll(c) // a reset is an end too
		if answer := string(said); answer != "" && (address != r.RedisAddr() || !strings.HasPrefix(answer, "-DENIED ")) {
			t.Errorf("a stranger is answered %q at %s", answer, address)
		}
		_ = c.Close()
	}
}

// A gateway whose files of doors have mistakes says so, and strictly it is not ready.
func TestReadyWithBrokenFilesOfDoors(t *testing.T) {
	n, _ := ownCluster(t, twoLimit, false)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "kuadrant.yaml"), "[{namespace: gateway\n")
	path := filepath.Join(dir, "gateway.yaml")
	write(t, path, "cluster: {servers: ['"+n.GRPCAddr()+"']}\nadmin: {listen: '127.0.0.1:0'}\ndoors: {grpc: [kuadrant], listen: '127.0.0.1:0', kuadrant_config: kuadrant.yaml}\n")
	r := openAt(t, path, Config{})
	r.until(t, "the gateway knows the limits", func() bool { r.clusters[0].fetchLimits(t.Context()); return r.clusters[0].limits() != nil })
	for query, status := range map[string]int{"": http.StatusOK, "?strict": http.StatusServiceUnavailable} {
		if a := r.readyz(t, query); a.status != status || !strings.HasPrefix(a.body, "degraded: doors: kuadrant: no limits are in force, and every call fails: "+filepath.Join(dir, "kuadrant.yaml")+":") {
			t.Errorf("/readyz%s: %+v, want %d", query, a, status)
		}
	}
}

// Doors speak TLS with the certificate of the document, which is exchanged while the gateway runs, and no plain text then.
func TestDoorsSpeakTLS(t *testing.T) {
	a, dir := newAuthority(t), t.TempDir()
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	put := func(name string) {
		cert, key := a.issue(t, name)
		write(t, filepath.Join(dir, "cert"), cert)
		write(t, filepath.Join(dir, "key"), key)
	}
	put("one")
	path := filepath.Join(dir, "gateway.yaml")
	write(t, path, "cluster: {servers: ['"+aNode+"'], decide_within: 30s}\nadmin: {listen: '127.0.0.1:0'}\n"+
		"doors: {grpc: [gubernator], listen: '127.0.0.1:0', redis: '127.0.0.1:0', tls: {cert: cert, key: key}}\n")
	r := openAt(t, path, Config{})
	asks := func(name string) {
		t.Helper()
		shown := ""
		with := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, VerifyConnection: func(s tls.ConnectionState) error {
			shown = s.PeerCertificates[0].Subject.CommonName
			return nil
		}}
		conn, err := grpc.NewClient("passthrough:///"+r.DoorsAddr(), grpc.WithTransportCredentials(credentials.NewTLS(with)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // it has been answered
		if _, err := gubernatorpb.NewV1Client(conn).LiveCheck(t.Context(), &gubernatorpb.LiveCheckReq{}); err != nil || shown != name {
			t.Errorf("gRPC shows %q: %v, want %q", shown, err, name)
		}
		shown = ""
		c := redis.NewClient(&redis.Options{Addr: r.RedisAddr(), TLSConfig: with, DisableIdentity: true, MaxRetries: -1, ReadTimeout: patience})
		defer c.Close() //nolint:errcheck // likewise
		if err := c.Ping(t.Context()).Err(); err != nil || shown != name {
			t.Errorf("Redis' protocol shows %q: %v, want %q", shown, err, name)
		}
	}
	asks("one")
	put("two")
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	asks("two")
	plain, err := grpc.NewClient("passthrough:///"+r.DoorsAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close() //nolint:errcheck // it was refused
	if _, err := gubernatorpb.NewV1Client(plain).LiveCheck(t.Context(), &gubernatorpb.LiveCheckReq{}); err == nil {
		t.Error("plain text is answered")
	}
}
