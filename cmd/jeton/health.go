package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/internal/plain"
	"github.com/jeton-dev/jeton/internal/speaks"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// A physician asks one process how it is.
type physician struct {
	remote

	gateway string
	live    bool
}

func healthVerb() *cobra.Command {
	var p physician
	cmd := &cobra.Command{
		Use:        "health",
		SuggestFor: []string{"ready", "readyz", "livez", "ping"},
		Short:      "Say whether a node or a gateway is ready, for supervisors and containers",
		Long: "Say whether a node is ready: it answers, and at least some keys can be decided, as GET /readyz says. With --gateway, ask a\n" +
			"gateway instead, at its admin address. What is ready and has a problem says \"degraded\" and why, as /readyz does: a node\n" +
			"that some keys cannot be decided, a gateway that its cluster or something else that it needs is not as it should be.\n\n" +
			"With --live, ask only whether the process answers: that is what a supervisor should ask that starts again what is not\n" +
			"healthy, since starting nodes again brings back no majority that others have lost.\n\n" +
			"Just the process at that address is asked, and no other node in its place.\n\n" +
			"Exit codes: 0 yes, also where it is degraded; 1 no, or no answer in time; 2 wrong options.",
		Example: "  jeton health\n  jeton health --live --server 10.0.0.1:7700 --cluster-key-file key\n  jeton health --gateway 127.0.0.1:7781",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask, err := p.asking()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), p.timeout)
			defer cancel()
			said, err := ask(ctx)
			if err != nil {
				fmt.Fprintln(cmd.OutOrStdout(), plain.Lines(err.Error()))
				return cli.ErrNo
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), plain.Lines(said))
			return err
		},
	}
	p.addFlagsWith(cmd, 2*time.Second)
	cmd.Flags().Lookup("server").Usage = "gRPC address of the node; also JETON_SERVER"
	cmd.Flags().StringVar(&p.gateway, "gateway", "", "admin address of a gateway to ask instead of a node, such as 127.0.0.1:7781; also JETON_GATEWAY")
	cmd.Flags().BoolVar(&p.live, "live", false, "only whether the process answers")
	return cmd
}

// What is printed of a process that is well; one that is degraded says so itself.
const (
	saidLive  = "live"
	saidReady = "ready"
)

// asking is what to ask, or what is wrong with the options. What it asks says in a line how a process is that is well.
func (p *physician) asking() (ask func(context.Context) (string, error), err error) {
	if err := checkTimeout(p.timeout); err != nil {
		return nil, err
	}
	if p.gateway != "" {
		r, err := http.NewRequest(http.MethodGet, p.page(), http.NoBody) //nolint:noctx // it gets one when it is sent
		if err != nil || r.URL.Host == "" || r.URL.Port() == "" {
			return nil, fmt.Errorf("--gateway: %q is no address: write HOST:PORT, such as 127.0.0.1:7781", p.gateway)
		}
		return func(ctx context.Context) (string, error) { return p.askGateway(r.WithContext(ctx)) }, nil
	}
	servers, err := p.servers()
	switch {
	case err != nil:
		return nil, err
	case len(servers) > 1:
		return nil, fmt.Errorf("--server: %q: name one node, whose health is asked", p.server)
	}
	secure, err := p.credential.TLS()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) { return p.askNode(ctx, secure) }, nil
}

// page is the URL of what is asked of a gateway.
func (p *physician) page() string {
	base := strings.TrimSuffix(p.gateway, "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	if p.live {
		return base + "/livez"
	}
	return base + "/readyz"
}

// maxVerdict is how much of a gateway's answer is read: its first line says how it is.
const maxVerdict = 1 << 16

func (p *physician) askGateway(r *http.Request) (string, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	a, err := (&http.Client{Transport: transport}).Do(r)
	if failed, is := errors.AsType[*url.Error](err); is {
		err = failed.Err
	}
	if err != nil {
		return "", noGateway(r, err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, maxVerdict))
	if err != nil {
		return "", noGateway(r, err)
	}
	first, more, _ := strings.Cut(string(text), "\n")
	switch {
	case !p.live && more == "" && (isVerdict(first) || strings.HasPrefix(first, "not ready: ")): // a gateway goes on with a line for its configuration
		return "", fmt.Errorf("%s answers as the HTTP port of a node of jeton does, not as a gateway: --gateway names the address of a gateway's admin.listen, such as 127.0.0.1:7781; "+
			"to ask a node, name its gRPC port with --server", r.URL)
	case a.StatusCode != http.StatusOK:
		return "", fmt.Errorf("%s answers %s: %s", r.URL, a.Status, first)
	case !isVerdict(first):
		return "", fmt.Errorf("%s answers %s, but not as a gateway of jeton does: --gateway names the address of its admin.listen, such as 127.0.0.1:7781", r.URL, a.Status)
	case p.live:
		return saidLive, nil
	}
	if said, more := strings.CutSuffix(first, " more below"); more {
		first = said + " more: " + r.URL.String() + " shows them"
	}
	return first, nil
}

// looksWithin is how long a look may take at an address that has not answered as it should.
const looksWithin = time.Second

// noGateway says what there is where a gateway was asked in vain, as far as that can be seen, or why it was in vain.
func noGateway(r *http.Request, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), looksWithin)
	defer cancel()
	const names = "--gateway names the address of a gateway's admin.listen, such as 127.0.0.1:7781"
	switch p := speaks.At(ctx, r.URL.Host); p {
	case speaks.GRPC:
		return fmt.Errorf("%s speaks gRPC, not HTTP, as the port of a node does: %s; to ask a node, name it with --server", r.URL.Host, names)
	case speaks.TLS, speaks.HTTPS:
		if r.URL.Scheme == "http" {
			return fmt.Errorf("%s speaks TLS, and was asked in plain text: %s; if it is one, write https://%s", r.URL.Host, names, r.URL.Host)
		}
	case speaks.Other:
		return fmt.Errorf("%s takes connections and speaks no HTTP: %s", r.URL.Host, names)
	case speaks.Silent:
		return fmt.Errorf("%s takes connections and says nothing: its process may be frozen, or it is a port of another kind: %s", r.URL.Host, names)
	case speaks.HTTP, speaks.Nothing:
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("gateway at %s: no answer in time; --timeout waits longer", r.URL.Host)
	}
	return fmt.Errorf("gateway at %s: %w", r.URL.Host, err)
}

// isVerdict says whether a gateway that is well says so in these words, of /livez or /readyz.
func isVerdict(first string) bool {
	return first == "ok" || first == saidReady || strings.HasPrefix(first, "degraded: ")
}

// askNode asks whether the node answers, and for more than that, which keys can be decided, as it sees it.
func (p *physician) askNode(ctx context.Context, secure *tls.Config) (string, error) {
	over := insecure.NewCredentials()
	if secure != nil {
		over = credentials.NewTLS(secure)
	}
	conn, err := grpc.NewClient("passthrough:///"+p.server, grpc.WithTransportCredentials(over), grpc.WithNoProxy())
	if err != nil {
		return "", err
	}
	defer conn.Close() //nolint:errcheck // the answer has been read
	m, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: pb.Limiter_ServiceDesc.ServiceName})
	switch {
	case err != nil:
		return "", p.noNode(ctx, secure, err)
	case p.live:
		return saidLive, nil
	case m.GetStatus() != healthpb.HealthCheckResponse_SERVING:
		return "", fmt.Errorf("node at %s: it is %s", p.server, m.GetStatus())
	}
	said, err := pb.NewAdminClient(conn).Status(ctx, &pb.StatusRequest{})
	if status.Code(err) == codes.FailedPrecondition {
		return saidReady, nil // it is alone: nothing but itself decides
	}
	if err != nil {
		return "", p.noNode(ctx, secure, err)
	}
	var s cluster.Status
	if err := json.Unmarshal(said.GetStatus(), &s); err != nil {
		return "", fmt.Errorf("node at %s: it speaks another version of jeton: %w", p.server, err)
	}
	if verdictOf(s.Deciding, false) != nil {
		return "", errors.New("not ready: no key can be decided: jeton cluster status shows why")
	}
	if some := s.Deciding.Degraded(); some != "" {
		return "degraded: " + some, nil
	}
	return saidReady, nil
}

// noNode says what there is where a node was asked in vain, as jeton cluster status does, or why it was in vain.
func (p *physician) noNode(ctx context.Context, secure *tls.Config, err error) error {
	looks, cancel := context.WithTimeout(context.WithoutCancel(ctx), looksWithin)
	defer cancel()
	if _, wrong := speaks.Misdirected(looks, p.server, secure, nil); wrong != "" {
		return errors.New(wrong)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("node at %s: no answer within %v; --timeout waits longer", p.server, p.timeout)
	}
	return fmt.Errorf("node at %s: %w", p.server, pb.DecodeError(err))
}
