package clustertests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	grpccredentials "google.golang.org/grpc/credentials"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/authority"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/credentials"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A secureCluster is three nodes with a cluster key, whose callers show certificates.
type secureCluster struct {
	*testing.T
	cluster *process.Cluster

	keyFile string
	dirs    []string // of the nodes' certificates
	https   *http.Client
}

func startSecure(t *testing.T, ca *authority.Authority, trusted ...*authority.Authority) *secureCluster {
	t.Helper()
	c := &secureCluster{T: t, keyFile: filepath.Join(t.TempDir(), "key")}
	if err := os.WriteFile(c.keyFile, []byte("the secret of this cluster\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	pool := ca.Pool()
	for _, a := range trusted {
		pool.AppendCertsFromPEM(a.PEM())
	}
	c.https = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13},
	}}
	c.cluster = process.NewCluster(t, process.Build(t), 3, clusterLimits, "--cluster-key-file", c.keyFile)
	for _, m := range c.cluster.Members {
		dir := t.TempDir()
		c.dirs = append(c.dirs, dir)
		m.Args(authority.Write(t, dir, ca.Issue(t, m.Name), append(trusted, ca)...).Args()...)
		m.Launch()
	}
	for _, m := range c.cluster.Members {
		c.await(m.Name+" is ready", func() bool { return c.get(m, "/readyz").status == http.StatusOK })
	}
	return c
}

// A page is what a node has answered over HTTPS, and the certificate that it has shown. The status is 0 if it did not answer.
type page struct {
	status int
	body   string
	shown  *x509.Certificate
}

// get asks a node over HTTPS.
func (c *secureCluster) get(m *process.Member, path string) page {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, "https://"+m.HTTP+path, http.NoBody)
	if err != nil {
		c.Fatal(err)
	}
	res, err := c.https.Do(r)
	if err != nil {
		return page{}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return page{}
	}
	return page{res.StatusCode, string(text), res.TLS.PeerCertificates[0]}
}

// checks is how many checks a node has answered over gRPC.
func (c *secureCluster) checks(m *process.Member) (sum int) {
	c.Helper()
	for _, found := range answered.FindAllStringSubmatch(c.get(m, "/metrics").body, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			c.Fatal(err)
		}
		sum += n
	}
	return sum
}

var answered = regexp.MustCompile(`(?m)^jeton_rpc_seconds_count{code="OK",method="jeton.v1.Limiter/Check\w*"} (\d+)$`)

// await waits until something is so.
func (c *secureCluster) await(what string, so func() bool) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), process.Patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			c.Fatalf("it never came to this: %s; %s said:\n%s", what, c.cluster.Members[0].Name, c.cluster.Members[0].Log())
		}
	}
}

// spread checks many keys at one node, which has to ask the others about most of them. The caller shows no table.
func (c *secureCluster) spread(m *process.Member, config *tls.Config) {
	c.Helper()
	conn, err := grpc.NewClient("passthrough:///"+m.GRPC, grpc.WithTransportCredentials(grpccredentials.NewTLS(config)))
	if err != nil {
		c.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // it has been answered
	ctx, cancel := context.WithTimeout(c.Context(), process.Patience)
	defer cancel()
	for i := range 60 {
		request := limit.Request{Key: fmt.Sprint(m.Name, i), Limits: []limit.Ref{limit.Named("api")}, Cost: 1}
		a, err := pb.NewLimiterClient(conn).Check(ctx, pb.EncodeRequest(request), grpc.WaitForReady(true))
		if err != nil || !a.GetDecision().GetAllowed() {
			c.Fatalf("%s, key %d: %+v, %v", m.Name, i, a, err)
		}
	}
}

// Three nodes know each other by the key and their callers by certificates: forwarded checks work, and who has the wrong
// certificate, or none, gets nothing.
func TestClusterWithCertificates(t *testing.T) {
	t.Parallel()
	ca, foreign := authority.New(t, "ours"), authority.New(t, "theirs")
	c := startSecure(t, ca)
	files := authority.Write(t, t.TempDir(), ca.Issue(t, "caller"), ca)
	wrong := authority.Write(t, t.TempDir(), foreign.Issue(t, "caller"), ca)
	config, err := credentials.CallerTLS(credentials.TLSFiles(files))
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range c.cluster.Members {
		other := c.cluster.Members[(i+1)%3]
		before := c.checks(other)
		c.spread(m, config)
		if after := c.checks(other); after <= before { // there is no other way to it
			t.Errorf("%s has asked %s nothing: %d checks, %d before", m.Name, other.Name, after, before)
		}
		for _, tt := range []struct {
			what string
			args []string
			code int
			says string
		}{
			{"a certificate", append([]string{"check", "slow", "k"}, files.Args()...), 0, ""},
			{"a foreign certificate", append([]string{"check", "slow", "k"}, wrong.Args()...), 2, "node at " + m.GRPC},
			{"plain text", []string{"check", "slow", "k"}, 2, "requires TLS"},
			{"the key", []string{"check", "slow", "k", "--cluster-key-file", c.keyFile}, 0, ""},
			{"a drain with a certificate", append([]string{"cluster", "drain", m.Name}, files.Args()...), 2, "needs the cluster key"},
			{"a drain that is taken back with the key", []string{"cluster", "drain", m.Name, "--undo", "--cluster-key-file", c.keyFile}, 0, "given partitions again"},
		} {
			if _, errs, code := c.cluster.Run(m, append(tt.args, "--timeout", "30s")...); code != tt.code || !strings.Contains(errs, tt.says) {
				t.Errorf("%s at %s: exit code %d, want %d and %q: %s", tt.what, m.Name, code, tt.code, tt.says, errs)
			}
		}
	}
	out, errs, code := process.Run(t, process.Build(t), append([]string{"cluster", "status", "--server", c.cluster.Members[0].GRPC}, files.Args()...)...)
	if code != 0 || !strings.Contains(out, "node-3") {
		t.Errorf("cluster status: exit code %d, %s%s", code, out, errs)
	}
}

// All certificates are replaced, and then their authority, while checks go on: none fails.
func TestCertificatesAreReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	ca, next := authority.New(t, "ours"), authority.New(t, "the next one")
	c := startSecure(t, ca, next)
	both := func(issuer *authority.Authority) *tls.Config {
		config, err := credentials.CallerTLS(credentials.TLSFiles(authority.Write(t, t.TempDir(), issuer.Issue(t, "caller"), ca, next)))
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	older, newer := both(ca), both(next)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var load sync.WaitGroup
	var kept, fresh atomic.Int64
	lasting, err := client.New(client.Config{Servers: c.cluster.Servers(), TLS: older, Timeout: process.Patience})
	if err != nil {
		t.Fatal(err)
	}
	defer lasting.Close() //nolint:errcheck // it has been answered
	ask := func(who *client.Client, key string) {
		request := limit.Request{Key: key, Limits: []limit.Ref{limit.Named("api")}, Look: true}
		if _, err := who.Check(t.Context(), request); err != nil {
			t.Error(err)
		}
	}
	for i := range callers {
		load.Go(func() { // over connections that last
			for ctx.Err() == nil {
				ask(lasting, fmt.Sprint("k", i))
				kept.Add(1)
			}
		})
	}
	for i, config := range []*tls.Config{older, newer} {
		load.Go(func() { // over a connection for each
			for ctx.Err() == nil {
				one, err := client.New(client.Config{Servers: c.cluster.Servers(), TLS: config, Timeout: process.Patience})
				if err != nil {
					t.Error(err)
					return
				}
				ask(one, fmt.Sprint("fresh", i))
				one.Close() //nolint:errcheck // it has been answered
				fresh.Add(1)
			}
		})
	}
	for round, issuer := range []*authority.Authority{ca, next} {
		for i, m := range c.cluster.Members {
			before := strings.Count(m.Log(), "reloaded files")
			pair := issuer.Issue(t, m.Name)
			authority.Write(t, c.dirs[i], pair, ca, next)
			c.await(fmt.Sprintf("round %d: %s shows another certificate", round, m.Name), func() bool {
				return strings.Count(m.Log(), "reloaded files") > before && pair.TLS(t).Leaf.Equal(c.get(m, "/livez").shown)
			})
			at := [2]int64{kept.Load(), fresh.Load()}
			c.await("checks after that", func() bool { return kept.Load() > at[0]+100 && fresh.Load() > at[1]+4 })
		}
	}
	cancel()
	load.Wait()
	for _, m := range c.cluster.Members {
		c.spread(m, newer)
	}
}
