package gateway

import (
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A gateway tells its cluster what it does, and operators see it there.
func TestTelling(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL))
	for range 3 {
		r.get(t, r.ProxyAddr(), "/items")
	}
	if a := r.get(t, r.ProxyAddr(), "/open"); a.status != http.StatusOK {
		t.Fatalf("%+v", a)
	}
	if err := r.tellOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := r.clusters[0].client.Activity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var look activity.Look
	if err := json.Unmarshal(text, &look); err != nil {
		t.Fatal(err)
	}
	told, err := r.activity()
	if err != nil {
		t.Fatal(err)
	}
	if told.Name != "test" || told.Admin != r.AdminAddr() || told.Requests["denied"] == 0 || told.Requests["unlimited"] != 1 {
		t.Errorf("it tells %+v", told)
	}
	seen := 0.0
	for _, n := range told.Latency.Counts {
		seen += n
	}
	if len(told.Latency.Counts) != len(told.Latency.Bounds)+1 || seen != told.Requests["admitted"]+told.Requests["denied"] {
		t.Errorf("the latencies of %v decisions are %+v", told.Requests, told.Latency)
	}
	if !json.Valid(text) || !containsGateway(look, "test") {
		t.Errorf("the cluster says %s", text)
	}
}

// containsGateway says whether a look has a gateway.
func containsGateway(look activity.Look, name string) bool {
	for _, n := range look.Nodes {
		for _, g := range n.Gateways {
			if g.Name == name {
				return true
			}
		}
	}
	return false
}

// A node of an older release does not know the call.
func TestTellingAnOlderNode(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, served := grpc.NewServer(), make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	defer func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	c, err := client.New(client.Config{Servers: []string{l.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := c.Tell(t.Context(), []byte("{}")); !errors.Is(err, client.ErrOlderNode) {
		t.Errorf("%v", err)
	}
}
