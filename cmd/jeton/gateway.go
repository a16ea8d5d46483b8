package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/jeton-dev/jeton/cmd/gateway"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/gateway/config"
	"github.com/jeton-dev/jeton/internal/tracing"
)

// gatewayName is the verb that runs a gateway.
const gatewayName = "gateway"

func gatewayVerb(hangup chan os.Signal) *cobra.Command {
	cfg := gateway.Config{}
	level := cli.NewChoice("info", "debug", "warn", "error")
	check, strict, withInput := false, false, false
	cmd := &cobra.Command{
		Use:   gatewayName,
		Short: "Run a gateway: it stands in front of an API and asks the cluster whether requests may pass",
		Long: "Run a gateway: it identifies the client, finds the limits that apply, asks the cluster, and lets a request through to\n" +
			"the API behind it, or answers 429. Beside that, or instead, it answers nginx, HAProxy, Caddy and Traefik whether a\n" +
			"request may pass.\n\n" +
			"The document that --config names says everything else: jeton gateway schema prints what may stand in it. It is\n" +
			"looked at once a second: what has changed is put in force whole, or not at all, when two looks in a row have found the\n" +
			"same text, and at once on SIGHUP. --check says whether a document is good, and what it means: a limit that its routes\n" +
			"name and the cluster does not have is an error, if the cluster can be asked, and so is a cost above a limit's capacity.\n" +
			"SIGTERM stops the gateway: it takes no new requests, and what is under way has five seconds to end. Then it is cut\n" +
			"off, streams too.",
		Example: "  jeton gateway --config gateway.yaml\n  jeton gateway --config gateway.yaml --check\n" +
			"  jeton gateway --config gateway.yaml --server a:7700,b:7700 --tls-cert gw.pem --tls-key gw.key --tls-ca ca.pem",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Logger = cli.NewLogger(cmd.ErrOrStderr(), level.Value)
			if err := needsDocument(cfg.Path); err != nil {
				return err
			}
			if check {
				return checkDocument(cmd, cfg, strict)
			}
			if strict {
				return errors.New("--strict: it goes with --check")
			}
			ctx := cmd.Context()
			if withInput {
				var stop context.CancelFunc
				ctx, stop = untilEnd(ctx, cmd.InOrStdin())
				defer stop()
			}
			cli.RelaxCollector()
			return runGateway(ctx, hangup, cfg)
		},
	}
	flags := cmd.Flags()
	addDocumentFlag(flags, &cfg.Path)
	flags.BoolVar(&check, "check", false, "only say whether the document is good, and what it means")
	flags.BoolVar(&strict, "strict", false, "with --check: warnings are errors, such as that the cluster cannot be asked for its limits")
	flags.StringSliceVar(&cfg.Servers, "server", nil, "gRPC addresses of nodes, a,b,c, instead of the document's; also JETON_SERVER")
	flags.StringVar(&cfg.TLSCert, "tls-cert", "", "PEM file with the certificate for nodes to see, instead of the document's")
	flags.StringVar(&cfg.TLSKey, "tls-key", "", "PEM file with its key")
	flags.StringVar(&cfg.TLSCA, "tls-ca", "", "PEM file with the authority of the nodes' certificates")
	flags.StringVar(&cfg.AccessLog, "access-log", "", "file to whose end a line of JSON is added about each request that access_log of the document names, those that do not pass if it names none; - is standard output")
	flags.BoolVar(&cfg.Insecure, "insecure", false, "take files with tokens, keys and secrets that others on this machine may read")
	flags.Var(level, "log-level", "least level of what is logged")
	flags.BoolVar(&withInput, "stop-with-input", false, "stop when standard input ends; for programs that start gateways")
	flags.MarkHidden("stop-with-input") //nolint:errcheck // it is there
	cmd.AddCommand(gatewaySchemaVerb(), gatewayDigestVerb())
	return cmd
}

func needsDocument(path string) error {
	if path == "" {
		return errors.New("--config: name the document of the gateway, such as gateway.yaml; jeton gateway schema says what may stand in it")
	}
	return nil
}

// runGateway runs a gateway until ctx ends or it cannot go on.
func runGateway(ctx context.Context, hangup chan os.Signal, cfg gateway.Config) error {
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	e, err := gateway.Open(cfg)
	if err != nil {
		return err
	}
	log := cfg.Logger
	log.Info("serving", "proxy", e.ProxyAddr(), "forward_auth", e.ForwardAuthAddr(), "admin", e.AdminAddr(),
		"doors", e.DoorsAddr(), "redis", e.RedisAddr(), "config", cfg.Path, "pid", os.Getpid())
	failure := e.Run(ctx, hangup)
	if failure != nil {
		failure = fmt.Errorf("the gateway stops: %w", failure)
	} else {
		log.Info("stopping")
	}
	if err := errors.Join(failure, stopGateway(ctx, e, log)); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// stopGateway gives what is under way a while to be answered. That spans were lost is no failure of the gateway.
func stopGateway(ctx context.Context, e *gateway.Gateway, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	err := e.Close(ctx)
	if errors.Is(err, tracing.ErrSpansLost) {
		log.Warn("stopped before all spans were sent", "error", err)
		return nil
	}
	return err
}

// askWithin is how long --check waits for the cluster, which need not run.
const askWithin = 2 * time.Second

// checkDocument says whether a document is good, and what it means. A limit that the cluster does not have is an error, as is a
// cost that no bucket of it holds; that the cluster cannot be asked is a warning, which strict makes an error.
func checkDocument(cmd *cobra.Command, cfg gateway.Config, strict bool) error {
	doc, err := gateway.Try(cfg)
	if err != nil {
		return err
	}
	if err := printDocument(cmd.OutOrStdout(), doc); err != nil {
		return err
	}
	if doc.Doors != nil {
		if err := checkDoors(cmd.OutOrStdout(), doc.Doors.RLSConfig.At, doc.Doors.KuadrantConfig.At); err != nil {
			return err
		}
	}
	var warnings []string
	for _, w := range doc.Warnings() {
		warnings = append(warnings, fmt.Sprintf("%s:%d: %s: %s", cfg.Path, w.Line, w.Field, w.Problem))
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), askWithin)
	defer cancel()
	problems, err := gateway.AskProblems(ctx, cfg)
	if err != nil {
		warnings = append(warnings, fmt.Sprintf("whether the cluster has these limits is not known: %v", err))
	}
	var wrong []error
	for _, p := range problems {
		if p.Warning {
			warnings = append(warnings, p.String())
			continue
		}
		wrong = append(wrong, errors.New(p.String()))
	}
	for _, warning := range warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
	}
	if n := len(warnings); strict && n > 0 {
		wrong = append(wrong, fmt.Errorf("--strict: warnings above that count as errors: %d", n))
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "the document is good")
	return err
}

// printDocument says in a few lines what a document means.
func printDocument(w io.Writer, d *config.Document) error {
	rows := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(rows, "gateway\t%s\n", d.GatewayName())
	for _, name := range d.Asked() {
		c := d.ClusterOf(name)
		fmt.Fprintf(rows, "%s\t%s, decides within %v\n", strings.TrimSpace("cluster "+name), strings.Join(c.Addresses(), ", "), c.Budget())
	}
	if d.Proxy != nil {
		scheme := "http"
		if d.Proxy.TLS != nil {
			scheme = "https"
		}
		fmt.Fprintf(rows, "proxy\t%s://%s\n", scheme, d.Proxy.Address())
	}
	if d.ForwardAuth != nil {
		fmt.Fprintf(rows, "forward-auth\thttp://%s/auth\n", d.ForwardAuth.Address())
	}
	if o := d.Doors; o != nil && o.Address() != "" {
		fmt.Fprintf(rows, "doors\t%s: %s\n", o.Address(), strings.Join(o.GRPC, ", "))
	}
	if o := d.Doors; o != nil && o.Redis != "" {
		fmt.Fprintf(rows, "door of Redis\t%s\n", o.Redis)
	}
	fmt.Fprintf(rows, "admin\thttp://%s\n", d.Admin.Address())
	if d.Proxy != nil {
		for _, name := range slices.Sorted(maps.Keys(d.Proxy.Upstreams)) {
			fmt.Fprintf(rows, "upstream %s\t%s\n", name, instances(d.Proxy.Upstreams[name]))
		}
	}
	for i := range d.Routes {
		r := &d.Routes[i]
		fmt.Fprintf(rows, "route %s\t%s%s\n", r.Name, where(r), to(d, r))
		for _, c := range r.Checks {
			fmt.Fprintf(rows, "\t  %s\n", what(d, c))
		}
		if len(r.Checks) == 0 {
			fmt.Fprintf(rows, "\t  no limit\n")
		}
	}
	return rows.Flush()
}

// instances is where the instances of an upstream are, and how those are spoken to that have TLS.
func instances(u config.Upstream) string {
	text := strings.Join(u.URLs, ", ")
	if !slices.ContainsFunc(u.URLs, func(url string) bool { return strings.HasPrefix(url, "https:") }) {
		return text
	}
	var t config.UpstreamTLS
	if u.TLS != nil {
		t = *u.TLS
	}
	text += ", known by " + cmp.Or(t.CA.Path, "the authorities of the system")
	if t.ServerName != "" {
		text += " as " + t.ServerName
	}
	if t.Cert.Given() {
		text += ", shown " + t.Cert.Path
	}
	return text
}

// where is which requests a route is for.
func where(r *config.Route) string {
	text := r.Path
	if len(r.Methods) > 0 {
		text = strings.Join(r.Methods, ",") + " " + text
	}
	if len(r.Hosts) > 0 {
		text += " at " + strings.Join(r.Hosts, ", ")
	}
	return text
}

// to is what answers a route's requests, and in which form if that is a language model.
func to(d *config.Document, r *config.Route) string {
	name := d.UpstreamOf(r)
	switch {
	case d.Proxy == nil || name == "":
		return ""
	case r.LLM != nil:
		return " → " + name + ", " + r.LLM.API
	}
	return " → " + name
}

// what is a check's limits, and whom they count.
func what(d *config.Document, c config.Check) string {
	limits := gateway.Limits(config.Route{Checks: []config.Check{c}})
	for i, name := range limits {
		limits[i] = config.ShownLimit(c.Cluster, name)
	}
	text := cmp.Or(strings.Join(limits, ", "), "no limit") + " by " + strings.Join(c.Templates(d.Identity), ", else ")
	if c.Choose != nil {
		text += ", chosen by " + c.Choose.By
	}
	if c.Shadow {
		text += ", only counted"
	}
	if c.Unit() != config.CountsRequests {
		text += ", counts " + c.Unit()
	}
	return text
}
