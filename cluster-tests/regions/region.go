package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/cmd/gateway"
	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/storage"
)

// behindLinks is the address at which clusters of other regions are reached. They listen on 127.0.0.1.
const behindLinks = "127.0.0.2"

// A world is what a recipe runs on.
type world struct {
	folder   string
	upstream *httptest.Server
	nodes    []*node.Node
	links    map[string]*link
	servers  map[string]string // of clusters, by their names
	gateways []*gateway.Gateway
}

// newWorld starts the clusters of a recipe, and a gateway in each region.
func newWorld(ctx context.Context, r *recipe, takes time.Duration) (w *world, err error) {
	w = &world{links: map[string]*link{}, servers: map[string]string{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.folder, err = os.MkdirTemp("", "regions-"); err != nil {
		return w, err
	}
	w.upstream = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, limits := range r.limits {
		if err := w.startCluster(ctx, name, limits, takes); err != nil {
			return w, err
		}
	}
	for _, checks := range []string{r.checks, r.theirs} {
		if checks == "" {
			checks = r.checks
		}
		if err := w.startGateway(ctx, checks); err != nil {
			return w, err
		}
	}
	return w, nil
}

// startCluster starts a cluster of one, behind a link where it is elsewhere.
func (w *world) startCluster(ctx context.Context, name, limits string, takes time.Duration) error {
	file := filepath.Join(w.folder, name+".yaml")
	if err := os.WriteFile(file, []byte(limits), 0o600); err != nil {
		return err
	}
	cfg := node.Config{
		Data: filepath.Join(w.folder, name), Durability: storage.Memory, Limits: file, Name: name, Logger: slog.New(slog.DiscardHandler),
		ListenGRPC: "127.0.0.1:0", ListenGossip: "127.0.0.1:0", ListenRaft: "127.0.0.1:0",
	}
	if name == elsewhere {
		cfg.Advertise = behindLinks
	}
	n, err := node.Open(cfg)
	if err != nil {
		return err
	}
	w.nodes = append(w.nodes, n)
	w.servers[name] = n.GRPCAddr()
	if name != elsewhere {
		return nil
	}
	_, port, err := net.SplitHostPort(n.GRPCAddr())
	if err != nil {
		return err
	}
	to := net.JoinHostPort("127.0.0.1", port)
	w.servers[name] = net.JoinHostPort(behindLinks, port)
	w.links[name], err = newLink(ctx, w.servers[name], to, takes)
	return err
}

// document is one of a gateway that makes these checks, and at /open none.
func (w *world) document(checks string) string {
	var clusters []string
	for _, name := range slices.Sorted(maps.Keys(w.servers)) {
		clusters = append(clusters, fmt.Sprintf("%s: {servers: [%q]}", name, w.servers[name]))
	}
	return fmt.Sprintf(`
name: gateway-%d
cluster: {decide_within: 5s, repeat_denials: 0s}
clusters: {%s}
proxy: {listen: "127.0.0.1:0", upstreams: {api: {urls: [%q]}}}
admin: {listen: "127.0.0.1:0"}
identity: {key: ["user:{header.X-User}"]}
routes: [{name: open, path: /open}, {name: all, path: /, checks: [%s]}]
`, len(w.gateways)+1, strings.Join(clusters, ", "), w.upstream.URL, checks)
}

// startGateway starts a gateway that makes these checks, and waits until it knows the limits of all clusters.
func (w *world) startGateway(ctx context.Context, checks string) error {
	file := filepath.Join(w.folder, fmt.Sprintf("gateway-%d.yaml", len(w.gateways)+1))
	if err := os.WriteFile(file, []byte(w.document(checks)), 0o600); err != nil {
		return err
	}
	g, err := gateway.Open(gateway.Config{Path: file, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	w.gateways = append(w.gateways, g)
	for range 1000 {
		if w.knows(ctx, g) {
			return nil
		}
		<-time.After(10 * time.Millisecond)
	}
	return fmt.Errorf("gateway %d has not heard of the limits of all clusters", len(w.gateways))
}

// knows says whether a gateway knows the limits of all clusters.
func (w *world) knows(ctx context.Context, g *gateway.Gateway) bool {
	for name := range w.servers {
		if _, status, err := get(ctx, http.DefaultClient, "http://"+g.AdminAddr()+"/clusters/"+name+"/v1/limits", nil); err != nil || status != http.StatusOK {
			return false
		}
	}
	return true
}

// Close implements io.Closer.
func (w *world) Close() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, g := range w.gateways {
		err = errors.Join(err, g.Close(ctx))
	}
	for _, k := range w.links {
		err = errors.Join(err, k.Close())
	}
	for _, n := range w.nodes {
		err = errors.Join(err, n.Close(ctx))
	}
	if w.upstream != nil {
		w.upstream.Close()
	}
	return errors.Join(err, os.RemoveAll(w.folder))
}
