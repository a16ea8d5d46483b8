// Command walk sends requests through a gateway to a node, both in this process, and writes which statements ran how often for
// them. It is built with -cover -covermode=atomic, and run by the test of package spine:
//
//	walk DIR N     N requests, one after another, and the counters into DIR
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/coverage"
	"strconv"

	"github.com/jeton-dev/jeton/cmd/gateway"
	"github.com/jeton-dev/jeton/cmd/node"
)

// The limit never denies, and its bucket is large: nearly every check is decided from memory.
const (
	limits   = "limits: {wide: {capacity: 1000000, refill: 1000000/s}}\n"
	document = `
name: walk
cluster: {servers: [%q], decide_within: 5s}
forward_auth: {listen: "127.0.0.1:0"}
routes: [{name: all, path: /, checks: [{limits: [wide]}]}]
`
	// warm is how many requests come first: connections are made, the key's actor is awake, and it holds a segment.
	warm = 50
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(args []string) (err error) {
	if len(args) != 2 {
		return errors.New("usage: walk DIR N")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("the number of requests, N: %w", err)
	}
	data, err := os.MkdirTemp("", "walk-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	url, stop, err := start(data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := ask(url, warm); err != nil {
		return err
	}
	if err := coverage.ClearCounters(); err != nil {
		return err
	}
	if err := ask(url, n); err != nil {
		return err
	}
	return errors.Join(coverage.WriteMetaDir(args[0]), coverage.WriteCountersDir(args[0]))
}

// start opens a node, and a gateway in front of it.
func start(data string) (url string, stop func() error, err error) {
	quiet := slog.New(slog.DiscardHandler)
	limitsFile, gatewayFile := filepath.Join(data, "limits.yaml"), filepath.Join(data, "gateway.yaml")
	if err := os.WriteFile(limitsFile, []byte(limits), 0o600); err != nil {
		return "", nil, err
	}
	n, err := node.Open(node.Config{
		Data: filepath.Join(data, "node"), Limits: limitsFile, Name: "node", Logger: quiet,
		ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	})
	if err != nil {
		return "", nil, err
	}
	err = os.WriteFile(gatewayFile, fmt.Appendf(nil, document, n.GRPCAddr()), 0o600)
	if err != nil {
		return "", nil, errors.Join(err, n.Close(context.Background()))
	}
	g, err := gateway.Open(gateway.Config{Path: gatewayFile, Logger: quiet})
	if err != nil {
		return "", nil, errors.Join(err, n.Close(context.Background()))
	}
	stop = func() error { return errors.Join(g.Close(context.Background()), n.Close(context.Background())) }
	return "http://" + g.ForwardAuthAddr() + "/auth", stop, nil
}

// ask sends n requests, one after another, and expects every one to pass.
func ask(url string, n int) error {
	for range n {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		for name, value := range map[string]string{"Method": "GET", "Host": "api", "Uri": "/items", "For": "192.0.2.7"} {
			request.Header.Set("X-Forwarded-"+name, value)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK || answer.Header.Get("RateLimit") == "" {
			return fmt.Errorf("%s answered %s with RateLimit %q; want 200, decided by the cluster", url, answer.Status, answer.Header.Get("RateLimit"))
		}
	}
	return nil
}
