package clustertests

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

const (
	admits = ratelimitv3.RateLimitResponse_OK
	denies = ratelimitv3.RateLimitResponse_OVER_LIMIT
)

// An envoyClient asks a rate limit service as Envoy does.
type envoyClient struct {
	*testing.T
	conn      *grpc.ClientConn
	rls       ratelimitv3.RateLimitServiceClient
	face      *process.Ratelimit
	cluster   *process.Cluster // nil if the service has buckets of its own
	undecided int              // requests that were not decided, and asked again
	early     int              // denials that were not expected
}

// envoyOf asks a service, in plain text if there is no configuration.
func envoyOf(t *testing.T, face *process.Ratelimit, secure *tls.Config) *envoyClient {
	t.Helper()
	over := insecure.NewCredentials()
	if secure != nil {
		over = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient(face.GRPC, grpc.WithTransportCredentials(over))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the test is over
	return &envoyClient{T: t, conn: conn, rls: ratelimitv3.NewRateLimitServiceClient(conn), face: face}
}

// envoyRequest has one descriptor, of keys and values in turn.
func envoyRequest(domain string, pairs ...string) *ratelimitv3.RateLimitRequest {
	d := &commonv3.RateLimitDescriptor{}
	for i := 0; i < len(pairs); i += 2 {
		d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: pairs[i], Value: pairs[i+1]})
	}
	return &ratelimitv3.RateLimitRequest{Domain: domain, Descriptors: []*commonv3.RateLimitDescriptor{d}}
}

// ask sends a request, again while nothing is decided.
func (c *envoyClient) ask(r *ratelimitv3.RateLimitRequest) ratelimitv3.RateLimitResponse_Code {
	c.Helper()
	for end := time.Now().Add(process.Patience); ; c.undecided++ {
		answer, err := c.rls.ShouldRateLimit(c.Context(), r)
		switch {
		case err == nil:
			return answer.GetOverallCode()
		case time.Now().After(end):
			c.Fatal(err)
		}
	}
}

// twice is how many charges there may be beside one for each request: of those that were not decided in time, and where a second node was
// asked beside one that was silent, as on a machine that stalls.
func (c *envoyClient) twice() (n int) {
	c.Helper()
	if n = c.undecided; c.cluster == nil {
		return n
	}
	text, _ := body(c.T, http.MethodGet, "http://"+c.face.Debug+"/metrics", "")
	n += askedAgain(c.T, text)
	for _, m := range c.cluster.Members {
		n += triedAgain(c.T, m.Node)
	}
	return n
}

// expect sends a request several times. As many may be denied early as others may have been charged twice; none is admitted late.
func (c *envoyClient) expect(what string, r *ratelimitv3.RateLimitRequest, want ...ratelimitv3.RateLimitResponse_Code) {
	c.Helper()
	for i, code := range want {
		got := c.ask(r)
		if got == code {
			continue
		}
		if c.early++; got != denies || c.early > c.twice() {
			c.Errorf("%s: answer %d is %v, want %v", what, i+1, got, code)
		}
	}
}

// ready waits until the health protocol says that a service serves.
func (c *envoyClient) ready(service string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), process.Patience)
	defer cancel()
	watch, err := grpc_health_v1.NewHealthClient(c.conn).Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: service}, grpc.WaitForReady(true))
	for err == nil {
		var said *grpc_health_v1.HealthCheckResponse
		if said, err = watch.Recv(); said.GetStatus() == grpc_health_v1.HealthCheckResponse_SERVING {
			return
		}
	}
	c.Fatalf("%s does not serve: %v", service, err)
}

// await returns when something is so.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(process.Patience); !is(); <-ticker.C {
		if time.Now().After(end) {
			t.Fatal("waited in vain: ", what)
		}
	}
}

// body asks for a page.
func body(t *testing.T, method, url, content string) (text string, code int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all), answer.StatusCode
}

// TestRatelimitBehindEnvoyGateway runs ratelimit with the environment that Envoy Gateway gives its container, in front of a cluster of three.
func TestRatelimitBehindEnvoyGateway(t *testing.T) {
	ca := authority.New(t, "envoy-gateway")
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "envoy-ratelimit"), ca)
	cluster := process.StartCluster(t, process.Build(t), 3, "limits: {}")
	server := newControl(t, ca, loopback(t)) // at a port that no connection takes while it is away
	environ := []string{
		"RUNTIME_ROOT=/data", "RUNTIME_SUBDIRECTORY=ratelimit", "RUNTIME_IGNOREDOTFILES=true", "RUNTIME_WATCH_ROOT=false", "USE_STATSD=false", "CONFIG_TYPE=GRPC_XDS_SOTW",
		"CONFIG_GRPC_XDS_SERVER_URL=" + server.address, "CONFIG_GRPC_XDS_NODE_ID=envoy-ratelimit", "CONFIG_GRPC_XDS_SERVER_USE_TLS=true",
		"CONFIG_GRPC_XDS_CLIENT_TLS_CERT=" + files.Cert, "CONFIG_GRPC_XDS_CLIENT_TLS_KEY=" + files.Key, "CONFIG_GRPC_XDS_SERVER_TLS_CACERT=" + files.CA,
		"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=" + files.Cert, "GRPC_SERVER_TLS_KEY=" + files.Key, "GRPC_SERVER_TLS_CA_CERT=" + files.CA, "GRPC_CLIENT_TLS_CACERT=" + files.CA,
		"FORCE_START_WITHOUT_INITIAL_CONFIG=true", "REDIS_SOCKET_TYPE=tcp", "REDIS_URL=redis:6379", "REDIS_AUTH=the-password", "XDS_CLIENT_BACKOFF_MAX_INTERVAL=200ms",
		"JETON_CLUSTER=" + strings.Join(cluster.Servers(), ","),
	}
	binary := process.BuildRatelimit(t)
	face := process.StartRatelimit(t, binary, environ...)
	shown := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: ca.Pool(), Certificates: []tls.Certificate{ca.Issue(t, "envoy").TLS(t)}}
	envoy := envoyOf(t, face, shown)
	envoy.cluster = cluster
	envoy.ready("ratelimit")
	if text, code := body(t, http.MethodGet, "http://"+face.HTTP+"/healthcheck", ""); code != http.StatusOK || text != "OK" {
		t.Errorf("the health check says %d %s", code, text)
	}
	const listener, route = "default/eg/http", envoyRoute
	of := func(client string) *ratelimitv3.RateLimitRequest {
		return envoyRequest(listener, route, route, "rule-0-match-0", client)
	}
	ofAddress := envoyRequest(listener, route, route, "masked_remote_address", "10.0.0.0/8", "remote_address", "10.0.0.7")
	if _, err := envoy.rls.ShouldRateLimit(t.Context(), of("a")); grpcstatus.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "no configuration has come") {
		t.Errorf("without a configuration: %v", err)
	}
	if _, err := envoyOf(t, face, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: ca.Pool()}).rls.ShouldRateLimit(t.Context(), of("a")); grpcstatus.Code(err) != codes.Unavailable || strings.Contains(err.Error(), "configuration") {
		t.Errorf("without a certificate: %v", err)
	}
	if log := face.Log(); !strings.Contains(log, "REDIS_URL") || !strings.Contains(log, "JETON_CLUSTER, or JETON_DATA, says where they are") || strings.Contains(log, "the-password") {
		t.Errorf("the log says of Redis:\n%s", log)
	}

	server.push("1", ofListener(listener, 3, 1), ofListener("other", 1, 1))
	await(t, "the configuration is accepted", func() bool { return server.accepted() == "1" })
	envoy.expect("a client", of("a"), admits, admits, admits, denies)
	envoy.expect("an address", ofAddress, admits, denies)
	envoy.expect("another domain", envoyRequest("other", route, route, "rule-0-match-0", "a"), admits, denies)
	if text, _ := body(t, http.MethodGet, "http://"+face.Debug+"/rlconfig", ""); !strings.Contains(text, listener+"."+route+"_"+route+".rule-0-match-0: unit=YEAR requests_per_unit=3, shadow_mode: false, quota_mode: false\n") {
		t.Errorf("the configuration is shown as\n%s", text)
	}

	bad := ofListener(listener, 100, 100)
	bad.Descriptors[0].Descriptors[0].RateLimit.Unit = 0
	server.push("2", bad)
	await(t, "the bad configuration is refused", func() bool {
		return strings.Contains(server.refused(), "default/eg/http: descriptors[0].descriptors[0].rate_limit.unit: is missing")
	})
	if got := server.accepted(); got != "1" {
		t.Errorf("the client has the version %s", got)
	}
	envoy.expect("a client, after a bad configuration", of("a"), denies)

	server.push("3", ofListener(listener, 6, 1)) // what was spent stays spent, as a part
	await(t, "the next configuration is accepted", func() bool { return server.accepted() == "3" })
	envoy.expect("a client without any left, of more", of("a"), denies)
	envoy.expect("another client", of("b"), admits, admits, admits, admits, admits, admits, denies)
	envoy.expect("a domain that is gone", envoyRequest("other", route, route, "rule-0-match-0", "a"), admits, admits)

	server.stop()
	face.WaitForLog("the xDS server does not answer")
	envoy.expect("while the server is away", of("b"), denies)
	again := newControl(t, ca, server.address)
	again.push("3", ofListener(listener, 2, 1)) // it counts anew
	await(t, "the server's configuration is accepted when it is back", func() bool { return again.accepted() == "3" })
	envoy.expect("when the server is back", of("c"), admits, admits, denies)

	if code := face.Stop(); code != 0 {
		t.Errorf("it ends with %d:\n%s", code, face.Log())
	}
	face = process.StartRatelimit(t, binary, environ...)
	envoy = envoyOf(t, face, shown)
	envoy.cluster = cluster
	envoy.ready("envoy.service.ratelimit.v3.RateLimitService")
	await(t, "the configuration comes again", func() bool {
		text, _ := body(t, http.MethodGet, "http://"+face.Debug+"/rlconfig", "")
		return text != ""
	})
	envoy.expect("after a restart", of("c"), denies)

	again.push("4", ofListener(listener, 1000, 1))
	await(t, "the last configuration is accepted", func() bool { return again.accepted() == "4" })
	envoy.killOwner(cluster, of("d"), fmt.Sprintf("%s|%s=%s|rule-0-match-0=d", listener, route, route), 1000)
}

// killOwner kills the node that decides about a key while many ask, and holds what was admitted against the limit. What the node had written and not answered is asked again of another
// one, and so charged twice: of each call that was under way, a few times at most.
func (c *envoyClient) killOwner(cluster *process.Cluster, r *ratelimitv3.RateLimitRequest, key string, limit int64) {
	c.Helper()
	table, err := client.New(client.Config{Servers: cluster.Servers()})
	if err != nil {
		c.Fatal(err)
	}
	defer table.Close() //nolint:errcheck // it was only looked at
	<-table.Heard()
	var owner *process.Member
	for _, m := range cluster.Members {
		if m.GRPC == table.First(key) {
			owner = m
		}
	}
	if owner == nil {
		c.Fatalf("no node decides about %s", key)
	}
	var admitted, undecided, denied atomic.Int64
	var asking sync.WaitGroup
	half := make(chan struct{})
	const callers = 8
	for range callers {
		asking.Go(func() {
			for denied.Load() < 100 && c.Context().Err() == nil {
				answer, err := c.rls.ShouldRateLimit(c.Context(), r)
				switch {
				case err != nil:
					undecided.Add(1)
				case answer.GetOverallCode() == denies:
					denied.Add(1)
				default:
					if admitted.Add(1) == limit/2 {
						close(half)
					}
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		asking.Wait()
		close(ended)
	}()
	select {
	case <-half:
	case <-ended:
		c.Fatalf("%d of %d are admitted before a node is killed, and %d calls were not decided", admitted.Load(), limit, undecided.Load())
	}
	owner.Kill()
	<-ended
	if n, lost := admitted.Load(), undecided.Load(); n > limit || n+lost < limit*9/10 {
		c.Errorf("%d of %d are admitted, and %d calls were not decided", n, limit, lost)
	} else {
		c.Logf("%d of %d are admitted, and %d calls were not decided", n, limit, lost)
	}
}

// TestRatelimitWithFiles runs ratelimit by itself: files instead of a server, and buckets of its own.
func TestRatelimitWithFiles(t *testing.T) {
	root := t.TempDir()
	config := filepath.Join(root, "ratelimit", "config")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		at := filepath.Join(root, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at, filepath.Join(config, name)); err != nil {
			t.Fatal(err)
		}
	}
	put("a.yaml", "domain: shop\ndescriptors:\n- {key: client, rate_limit: {unit: year, requests_per_unit: 2}}\n- {key: tokens, rate_limit: {unit: year, requests_per_unit: 100}}\n")
	put("b", "domain: shop\ndescriptors:\n- key: path\n  value: /*\n  shadow_mode: true\n  rate_limit: {unit: day, requests_per_unit: 7}\n")
	binary := process.BuildRatelimit(t)
	environ := []string{"RUNTIME_ROOT=" + root, "RUNTIME_SUBDIRECTORY=ratelimit", "MERGE_DOMAIN_CONFIG=true", "JETON_DATA=" + filepath.Join(root, "data")}
	face := process.StartRatelimit(t, binary, environ...)
	face.WaitForLog("this process keeps buckets of its own")
	envoy := envoyOf(t, face, nil)
	envoy.ready("ratelimit")
	question := `{"domain": "shop", "descriptors": [{"entries": [{"key": "client", "value": "a"}]}]}`
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusTooManyRequests} {
		if text, code := body(t, http.MethodPost, "http://"+face.HTTP+"/json", question); code != want || !strings.Contains(text, `"requestsPerUnit":2`) {
			t.Errorf("answer %d is %d %s", i+1, code, text)
		}
	}
	if text, code := body(t, http.MethodPost, "http://"+face.HTTP+"/json", `{"domain": 5}`); code != http.StatusBadRequest {
		t.Errorf("to nonsense it says %d %s", code, text)
	}
	if text, _ := body(t, http.MethodGet, "http://"+face.Debug+"/rlconfig", ""); text != "shop.client: unit=YEAR requests_per_unit=2, shadow_mode: false, quota_mode: false\n"+
		"shop.tokens: unit=YEAR requests_per_unit=100, shadow_mode: false, quota_mode: false\nshop.path_/*: unit=DAY requests_per_unit=7, shadow_mode: true, quota_mode: false\n" {
		t.Errorf("the configuration is shown as\n%s", text)
	}
	if text, code := body(t, http.MethodGet, "http://"+face.Debug+"/metrics", ""); code != http.StatusOK || !strings.Contains(text, `jeton_door_rls_requests_total{answer="over_limit"} 1`) || !strings.Contains(text, "go_goroutines") {
		t.Errorf("the metrics are %d\n%.2000s", code, text)
	}
	tokens := func(hits uint64) *ratelimitv3.RateLimitRequest {
		r := envoyRequest("shop", "tokens", "a")
		r.Descriptors[0].HitsAddend = wrapperspb.UInt64(hits)
		return r
	}
	envoy.expect("a look before the work", tokens(0), admits)
	envoy.expect("more tokens than there are, after it", tokens(500), denies)
	envoy.expect("a look after it", tokens(0), denies)

	face.Kill()
	face = process.StartRatelimit(t, binary, environ...)
	envoy = envoyOf(t, face, nil)
	envoy.ready("")
	envoy.expect("after a kill", envoyRequest("shop", "client", "a"), denies)
	put("a.yaml", "domain: shop\ndescriptors:\n- {key: client, rate_limit: {unit: year, requests_per_unit: 2}}\n- {key: more, rate_limit: {unit: year, requests_per_unit: 1}}\n")
	await(t, "the change is in force", func() bool {
		text, _ := body(t, http.MethodGet, "http://"+face.Debug+"/rlconfig", "")
		return strings.Contains(text, "shop.more")
	})
	envoy.expect("a rule that is new", envoyRequest("shop", "more", "x"), admits, denies)
	if code := face.Stop(); code != 0 {
		t.Errorf("it ends with %d:\n%s", code, face.Log())
	}
}

// TestRatelimitAsksOverTLS has a cluster whose callers show certificates.
func TestRatelimitAsksOverTLS(t *testing.T) {
	ca, other, root := authority.New(t, "ca"), authority.New(t, "another ca"), t.TempDir()
	nodes := startSecure(t, ca)
	if err := os.Mkdir(filepath.Join(root, "config"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "config", "rules.yaml"), []byte("domain: d\ndescriptors:\n- {key: k, rate_limit: {unit: year, requests_per_unit: 1}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func(by *authority.Authority) *process.Ratelimit {
		t.Helper()
		files := authority.Write(t, t.TempDir(), by.Issue(t, "ratelimit"), ca)
		return process.StartRatelimit(t, process.BuildRatelimit(t), "RUNTIME_ROOT="+root, "JETON_CLUSTER="+strings.Join(nodes.cluster.Servers(), ","),
			"JETON_TLS_CERT="+files.Cert, "JETON_TLS_KEY="+files.Key, "JETON_TLS_CA="+files.CA)
	}
	face := start(ca)
	envoy := envoyOf(t, face, nil)
	envoy.ready("ratelimit")
	envoy.expect("over TLS", envoyRequest("d", "k", "v"), admits, denies)
	stranger := start(other)
	stranger.WaitForLog("not healthy.*the buckets could not be asked")
	if text, code := body(t, http.MethodGet, "http://"+stranger.HTTP+"/healthcheck", ""); code != http.StatusInternalServerError {
		t.Errorf("with a certificate of another authority it is healthy: %d %s", code, text)
	}
	if text, code := body(t, http.MethodPost, "http://"+stranger.HTTP+"/json", `{"domain": "d", "descriptors": [{"entries": [{"key": "k", "value": "w"}]}]}`); code != http.StatusInternalServerError {
		t.Errorf("with a certificate of another authority it says %d %s", code, text)
	}
}

// TestRatelimitRefuses starts ratelimit with what is wrong, each of which the error names.
func TestRatelimitRefuses(t *testing.T) {
	binary := process.BuildRatelimit(t)
	taken := process.FreePorts(t, 1)
	l := newControl(t, authority.New(t, "ca"), fmt.Sprintf("127.0.0.1:%d", taken))
	for variable, environ := range map[string][]string{
		"GRPC_PORT: " + l.address + " is in use":                     {fmt.Sprintf("GRPC_PORT=%d", taken)},
		"QUOTA_MODE: ":                                               {"QUOTA_MODE=true"},
		"JETON_CLUSTER: ":                                            {"JETON_CLUSTER=nowhere"},
		"CONFIG_GRPC_XDS_SERVER_TLS_CACERT: ":                        {"CONFIG_TYPE=GRPC_XDS_SOTW", "CONFIG_GRPC_XDS_SERVER_USE_TLS=true", "CONFIG_GRPC_XDS_SERVER_TLS_CACERT=/nowhere"},
		"GRPC_SERVER_TLS_CERT: ":                                     {"GRPC_SERVER_USE_TLS=true", "GRPC_SERVER_TLS_CERT=/nowhere", "GRPC_SERVER_TLS_KEY=/nowhere"},
		"RUNTIME_ROOT, RUNTIME_SUBDIRECTORY, RUNTIME_APPDIRECTORY: ": {"RUNTIME_ROOT=/nowhere"},
	} {
		face := process.LaunchRatelimit(t, binary, environ...)
		if code := face.ExitCode(); code != 2 || !strings.Contains(face.Log(), "ratelimit: "+variable) {
			t.Errorf("%q: it ends with %d:\n%s", environ, code, face.Log())
		}
	}
}
