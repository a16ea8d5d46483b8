package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jeton-dev/jeton/actor"
	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/storage"
)

// stopWithin is how long a stopping node may take to answer the calls in flight.
const stopWithin = 5 * time.Second

// serveOptions are those of jeton serve.
type serveOptions struct {
	cfg               node.Config
	durability, level *cli.Choice
	memory            int64
	withInput, check  bool
}

func newServeOptions() *serveOptions {
	return &serveOptions{durability: cli.NewChoice(string(storage.Fsync), string(storage.Memory)), level: cli.NewChoice("info", "debug", "warn", "error")}
}

// config is the node that the options describe.
func (o *serveOptions) config() node.Config {
	o.cfg.Durability = storage.Durability(o.durability.Value)
	return o.cfg
}

// serveName is the verb that runs a node.
const serveName = "serve"

func serveVerb(hangup chan os.Signal) *cobra.Command {
	o := newServeOptions()
	cmd := &cobra.Command{
		Use:        serveName,
		SuggestFor: []string{"start", "run", "server", "node"},
		Short:      "Run a node",
		Long: "Run a node. Alone, it is a cluster of one, which others may join later.\n\n" +
			"An empty node with --expect 3 and --join a:7701,b:7701,c:7701, the gossip addresses of all three, waits for the two\n" +
			"others and founds a cluster with them, once, in whatever order they start. With --join and without --expect it joins a\n" +
			"cluster that exists, and waits until it finds one. With neither it founds a cluster of its own at once.\n\n" +
			"A node that is started again on its data belongs to its cluster whatever these options say; addresses of --join are\n" +
			"then asked besides those that it remembers. A node whose disk was lost needs --join: it takes its old place, under its\n" +
			"name; without --join it would be a cluster of its own.\n\n" +
			"Every option is also an environment variable, --listen-grpc being JETON_LISTEN_GRPC, and a field of the\n" +
			"YAML file that --config names, where it is listen-grpc. The command line rules over the environment, and\n" +
			"that over the file.\n\n" +
			"The limits file is what a new cluster begins with; after that the cluster's own document rules (jeton limits).\n" +
			"SIGHUP reads the file again and puts it in force in the whole cluster, whole or not at all. SIGTERM stops the\n" +
			"node after callers were told and what is in flight has been answered, for which it waits five seconds at most.\n\n" +
			"With --tls-cert, --tls-key and --tls-ca callers show a certificate of these authorities, and HTTP is HTTPS. The\n" +
			"nodes go on to know each other by the cluster key. The files may be replaced while the node runs.",
		Example: "  jeton serve --data /var/lib/jeton --limits limits.yaml\n" +
			"  jeton serve --node-name a --expect 3 --join a:7701,b:7701,c:7701 --cluster-key-file key \\\n" +
			"    --listen-grpc :7700 --listen-gossip :7701 --listen-http :7702 --listen-raft :7703 --advertise a \\\n" +
			"    --tls-cert tls.crt --tls-key tls.key --tls-ca ca.crt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := o.config()
			cfg.Logger = cli.NewLogger(cmd.ErrOrStderr(), o.level.Value)
			if o.check {
				return checkServe(cmd.OutOrStdout(), cfg, o.memory, cmd.Flags().Lookup(cli.ConfigOption).Value.String())
			}
			ctx := cmd.Context()
			if o.withInput {
				var stop context.CancelFunc
				ctx, stop = untilEnd(ctx, cmd.InOrStdin())
				defer stop()
			}
			return bounded(ctx, hangup, cfg, o.memory)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *serveOptions) addFlags(flags *pflag.FlagSet) {
	cfg := &o.cfg
	flags.String(cli.ConfigOption, "", "YAML file with options")
	flags.StringVar(&cfg.Data, "data", "jeton-data", "directory that keeps the registers")
	flags.StringVar(&cfg.Limits, "limits", "", "YAML file with the limits")
	flags.Var(o.durability, "durability", "when a decision counts as kept: after an fsync, or at once in memory")
	flags.StringVar(&cfg.Name, "node-name", "", "name of this node for people to read; the host name if empty")
	flags.BoolVar(&cfg.Restored, "restored", false, "the data directory is a restored copy: assume that every bucket was emptied")
	flags.DurationVar(&cfg.InlineFill, "inline-fill", actor.DefaultInlineFill, "how long an empty bucket may take to fill by a limit that a request defines")
	flags.Int64Var(&cfg.InlineRegisters, "inline-registers", storage.DefaultInline, "how many registers of limits that requests define the node keeps at most")
	flags.Var(cli.Size{Bytes: &o.memory, Least: cli.LeastMemory}, "memory", "memory that the node stays below, such as 512MiB, and at least 128MiB; 75 % of its control group's or the machine's if not given. GOMEMLIMIT rules if it is set")
	flags.BoolVar(&cfg.ShowHotKeys, "show-hot-keys", false, "name hot keys in metrics as they are, which whoever reads /metrics then sees; without it, by hashes that /debug/actors has beside the keys")
	flags.Var(o.level, "log-level", "least level of what is logged")
	flags.BoolVar(&o.withInput, "stop-with-input", false, "stop when standard input ends; for programs that start nodes")
	flags.MarkHidden("stop-with-input") //nolint:errcheck // it is there
	flags.BoolVar(&o.check, "check", false, "start nothing, listen nowhere and ask no other node: only say whether the node takes these options and the files with keys, certificates and tokens, whether the files of --limits, --rls-config and --kuadrant-config are good, and what they mean")
	addListenFlags(flags, cfg)
	addClusterFlags(flags, cfg)
	addSecretFlags(flags, cfg)
	addTraceFlags(flags, cfg)
}

// bounded runs a node that stays below so much memory.
func bounded(ctx context.Context, hangup chan os.Signal, cfg node.Config, memory int64) error {
	bound, err := checkBounds(cfg, memory, os.LookupEnv)
	if err != nil {
		return err
	}
	return serve(ctx, hangup, cfg, bound)
}

// untilEnd is ctx, ended when there is no more input.
func untilEnd(ctx context.Context, input io.Reader) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	go func() { // which ends with the process: nothing else ends a read
		io.Copy(io.Discard, input) //nolint:errcheck // however it ended, there is no more
		stop()
	}()
	return ctx, stop
}

func addClusterFlags(flags *pflag.FlagSet, cfg *node.Config) {
	flags.StringVar(&cfg.Advertise, "advertise", "", "host at which other nodes and clients reach this one; that of the addresses above if empty")
	flags.StringSliceVar(&cfg.Join, "join", nil, "gossip addresses of nodes, a,b,c; this one's may be among them")
	flags.IntVar(&cfg.Expect, "expect", 0, "how many empty nodes found a cluster together: 1, 3 or 5; 0 joins one with --join, and is alone without")
	flags.IntVar(&cfg.Replicas, "replicas", 3, "nodes that keep each register in a cluster that is founded, 3 or 5, once there are so many")
	flags.StringVar(&cfg.Zone, "zone", "", "zone of the node, such as a data center: replicas are spread over zones")
}

func addSecretFlags(flags *pflag.FlagSet, cfg *node.Config) {
	flags.StringVar(&cfg.ClusterKeyFile, "cluster-key-file", "", "file with the secret by which nodes and operators know each other")
	flags.StringVar(&cfg.TLSCert, "tls-cert", "", "PEM file with the certificate that callers are shown; with --tls-key and --tls-ca they speak TLS, and HTTP is HTTPS")
	flags.StringVar(&cfg.TLSKey, "tls-key", "", "PEM file with the key of that certificate")
	flags.StringVar(&cfg.TLSCA, "tls-ca", "", "PEM file with the authorities that callers' certificates must come from")
	flags.StringVar(&cfg.RedisTokenFile, "redis-token-file", "", "file with tokens, one a line, of which clients that speak Redis' protocol show one by AUTH; empty takes clients without, of this machine only")
	flags.StringVar(&cfg.AdminTokenFile, "admin-token-file", "", "file with the tokens of operators, one a line: they let them look at buckets, fill them and change limits, as the cluster key's own token does")
	cfg.ListenMemory = node.DefaultListenMemory
	flags.Var(cli.Size{Bytes: &cfg.ListenMemory, Least: node.MinListenMemory}, "listen-memory", "memory that each listener takes at most for callers that have proved nothing, 1MiB or more")
	flags.BoolVar(&cfg.Insecure, "insecure", false, "listen beyond loopback without a cluster key, though any process that reaches the node can pass for a node; and accept key and token files that other users may read")
}

func addTraceFlags(flags *pflag.FlagSet, cfg *node.Config) {
	flags.StringVar(&cfg.OTLPEndpoint, "otlp-endpoint", "", "address of a collector that takes the node's spans, by OTLP over gRPC, such as 127.0.0.1:4317; none if empty")
	flags.BoolVar(&cfg.OTLPInsecure, "otlp-insecure", false, "speak plain text with the collector, in place of TLS")
	flags.Float64Var(&cfg.TraceSample, "trace-sample", 0, "share of the traces that would begin at this node which is sampled, 0 to 1, such as 0.01; those that callers have begun are as they say")
}

func addListenFlags(flags *pflag.FlagSet, cfg *node.Config) {
	flags.StringVar(&cfg.ListenGRPC, "listen-grpc", "127.0.0.1:7700", "address for checks over gRPC, and for other nodes")
	flags.StringVar(&cfg.ListenHTTP, "listen-http", "127.0.0.1:7702", "address for the JSON API, metrics and debug pages")
	flags.StringVar(&cfg.ListenRedis, "listen-redis", "", "address for clients that speak Redis' protocol, such as 127.0.0.1:7706; none if empty")
	flags.StringSliceVar(&cfg.Doors, "doors", nil, "protocols of other systems that the gRPC port answers too: gubernator, kuadrant, rls, rlqs; Redis' has --listen-redis, and extauthz is a gateway's")
	flags.StringVar(&cfg.KuadrantConfig, "kuadrant-config", "", "file with limits of Kuadrant's Limitador, or directory with several, for --doors kuadrant")
	flags.StringVar(&cfg.RLSConfig, "rls-config", "", "directory with the configuration of envoyproxy/ratelimit, for --doors rls")
	flags.BoolVar(&cfg.RLSHeaders, "rls-headers", false, "add RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset to answers of --doors rls")
	flags.BoolVar(&cfg.RLSMetadata, "rls-metadata", false, "add dynamic metadata to answers of --doors rls")
	flags.StringVar(&cfg.ListenRaft, "listen-raft", "127.0.0.1:7703", "address for raft, by which nodes agree on members, limits and the table")
	flags.StringVar(&cfg.ListenGossip, "listen-gossip", "127.0.0.1:7701", "address, TCP and UDP, at which nodes find each other; empty for a node that no other ever joins")
}

// serve runs a node until ctx ends or its disk fails.
func serve(ctx context.Context, hangup chan os.Signal, cfg node.Config, bound memoryBound) error {
	syscall.Umask(0o077) // whatever the node writes is for its user alone
	spreadWork()
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	kept, stop := context.WithCancel(ctx)
	done := keepMemory(kept, &cfg, bound)
	defer func() { <-done }()
	defer stop()
	for {
		err := serveOnce(ctx, hangup, cfg)
		if !errors.Is(err, node.ErrOldCopy) {
			return err
		}
		cfg.Logger.Error("the data directory is an old copy: what it knows is given up, and the node joins as a new one", "error", err)
		if err := node.Renew(cfg.FS, cfg.Data); err != nil {
			return err
		}
	}
}

// serveOnce runs a node until ctx ends or it cannot go on.
func serveOnce(ctx context.Context, hangup chan os.Signal, cfg node.Config) error {
	n, err := node.Open(cfg)
	if err != nil {
		return err
	}
	cfg.Logger.Info("serving", "grpc", n.GRPCAddr(), "http", n.HTTPAddr(), "gossip", n.GossipAddr(), "redis", n.RedisAddr(), "doors", strings.Join(cfg.Doors, ","), "data", cfg.Data, "pid", os.Getpid())
	return wait(ctx, hangup, n, cfg.Logger)
}

// wait reloads the limits at each SIGHUP, and stops the node when ctx ends or its disk has failed. A SIGHUP waits until the node has its
// cluster, whose limits they are.
func wait(ctx context.Context, hangup chan os.Signal, n *node.Node, log *slog.Logger) error {
	joined, reload := n.Joined(), (<-chan os.Signal)(nil)
	for {
		select {
		case <-joined:
			joined, reload = nil, hangup
		case <-reload:
			if err := n.Reload(ctx); err != nil {
				log.Error("limits not reloaded", "error", err)
			}
		case <-n.Failed():
			if errors.Is(n.Err(), node.ErrOldCopy) { // it is opened again
				return errors.Join(n.Err(), stop(ctx, n))
			}
			return fmt.Errorf("the node stops: %w", n.Err())
		case <-ctx.Done():
			log.Info("stopping")
			err := stop(ctx, n)
			if err == nil {
				log.Info("stopped")
			}
			return err
		}
	}
}

// stop gives what is in flight a while to be answered.
func stop(ctx context.Context, n *node.Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return n.Close(ctx)
}
