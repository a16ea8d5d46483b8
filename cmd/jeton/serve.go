package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/storage"
)

// stopWithin is how long a node that is told to stop may go on answering what is in flight.
const stopWithin = 5 * time.Second

func serveVerb() *cobra.Command {
	cfg := node.Config{}
	durability := newChoice(string(storage.Fsync), string(storage.Memory))
	level := newChoice("info", "debug", "warn", "error")
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a node",
		Long: "Run a node. Alone, it is a cluster of one.\n\n" +
			"Every option is also an environment variable, --listen-grpc being JETON_LISTEN_GRPC, and a field of the\n" +
			"YAML file that --config names, where it is listen-grpc. The command line rules over the environment, and\n" +
			"that over the file.\n\n" +
			"SIGHUP reads the limits file again: it is put in force whole, or not at all. SIGTERM stops the node after\n" +
			"what is in flight has been answered.",
		Example: "  jeton serve --data /var/lib/jeton --limits limits.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg.Durability = storage.Durability(durability.value)
			cfg.Logger = newLogger(cmd.ErrOrStderr(), level.value)
			return serve(cmd.Context(), cfg)
		},
	}
	flags := cmd.Flags()
	flags.String(configOption, "", "YAML file with options")
	flags.StringVar(&cfg.Data, "data", "jeton-data", "directory that keeps the registers")
	flags.StringVar(&cfg.Limits, "limits", "", "YAML file with the limits")
	flags.Var(durability, "durability", "when a decision counts as kept: after an fsync, or at once in memory")
	flags.StringVar(&cfg.Name, "node-name", "", "name of this node for people to read; the host name if empty")
	flags.BoolVar(&cfg.Restored, "restored", false, "the data directory is a restored copy: assume that every bucket was emptied")
	flags.Var(level, "log-level", "least level of what is logged")
	addListenFlags(flags, &cfg)
	return cmd
}

func addListenFlags(flags *pflag.FlagSet, cfg *node.Config) {
	flags.StringVar(&cfg.ListenGRPC, "listen-grpc", "127.0.0.1:7700", "address for checks over gRPC")
	flags.StringVar(&cfg.ListenHTTP, "listen-http", "127.0.0.1:7702", "address for the JSON API, metrics and debug pages")
	flags.BoolVar(&cfg.Insecure, "insecure", false, "listen beyond loopback although callers are not authenticated")
}

func newLogger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		l = slog.LevelInfo // the option takes only names that slog knows
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}

// gcPercent is by how much a node's heap may grow between two collections, if the environment variable GOGC does not say.
// What lives long is little, and what dies young much: Go's own 100 costs a third of the node's processor time.
const gcPercent = 400

// serve runs a node until ctx ends or its disk fails.
func serve(ctx context.Context, cfg node.Config) error {
	if _, ok := os.LookupEnv("GOGC"); !ok {
		debug.SetGCPercent(gcPercent)
	}
	n, err := node.Open(cfg)
	if err != nil {
		return err
	}
	cfg.Logger.Info("serving", "grpc", n.GRPCAddr(), "http", n.HTTPAddr(), "data", cfg.Data, "pid", os.Getpid())
	return wait(ctx, n, cfg.Logger)
}

// wait reloads the limits whenever it is told to, and stops the node when ctx ends or its disk has failed.
func wait(ctx context.Context, n *node.Node, log *slog.Logger) error {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	defer signal.Stop(hangup)
	for {
		select {
		case <-hangup:
			if err := n.Reload(); err != nil {
				log.Error("limits not reloaded", "error", err)
			}
		case <-n.Failed():
			return fmt.Errorf("the node stops: %w", n.Err())
		case <-ctx.Done():
			log.Info("stopping")
			return stop(ctx, n)
		}
	}
}

// stop gives what is in flight a while to be answered.
func stop(ctx context.Context, n *node.Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	return n.Close(ctx)
}
