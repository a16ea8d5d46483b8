// Command ratelimit stands in for envoyproxy/ratelimit: in an image of its own at /bin/ratelimit, with the environment variables and files of that service, it answers Envoy from jeton's
// buckets. It has no options: see docs/from-envoy-gateway.md for the variables.
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

	"github.com/jeton-dev/jeton/cmd/internal/cli"
	"github.com/jeton-dev/jeton/cmd/ratelimit/standin"
)

// stopWithin is how long calls that are under way may take when it stops.
const stopWithin = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(&cli.Terminal{To: os.Stderr}, "ratelimit:", strings.ReplaceAll(err.Error(), "\n", "\nratelimit: "))
		os.Exit(cli.ExitError)
	}
}

// run is the program, until ctx ends or it cannot go on.
func run(ctx context.Context, args, environ []string, stderr io.Writer) error {
	if len(args) > 0 {
		return fmt.Errorf("%q: it has no options: everything is an environment variable of envoyproxy/ratelimit, or JETON_CLUSTER, JETON_DATA and JETON_TLS_…", args[0])
	}
	settings, err := standin.Read(environ)
	if err != nil {
		return err
	}
	log := logger(stderr, settings)
	s, err := standin.Open(settings, log)
	if err != nil {
		return err
	}
	log.Info("serving", "grpc", s.GRPCAddr(), "http", s.HTTPAddr(), "debug", s.DebugAddr(), "prometheus", s.PrometheusAddr(), "pid", os.Getpid())
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case <-s.Failed():
		err = fmt.Errorf("it cannot go on: %w", s.Err())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := errors.Join(err, s.Close(ctx)); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// logger writes text, or JSON with the names of envoyproxy/ratelimit.
func logger(to io.Writer, s *standin.Settings) *slog.Logger {
	if !s.LogJSON {
		return cli.NewLogger(&cli.Terminal{To: to}, s.LogLevel)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.LogLevel)); err != nil {
		level = slog.LevelInfo // which Read does not say
	}
	names := map[string]string{slog.TimeKey: "@timestamp", slog.MessageKey: "@message"}
	return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if name := names[a.Key]; name != "" && len(groups) == 0 {
			a.Key = name
		}
		return a
	}}))
}
