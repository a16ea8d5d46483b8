package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A gateway tells its cluster what it does, and operators see it there.
func TestTelling(t *testing.T) {
	r := open(t, Config{}, aDocument(anUpstream(t).URL))
	r.until(t, "limits of the cluster", func() bool { return r.clusters[0].limits() != nil })
	for range 5 { // two are admitted, one is denied by the node, and that is repeated
		r.get(t, r.ProxyAddr(), "/items")
	}
	if a := r.get(t, r.ProxyAddr(), "/open"); a.status != http.StatusOK {
		t.Fatalf("%+v", a)
	}
	r.until(t, "it tells", func() bool { return r.tellOnce(t.Context()) == nil })
	cluster := func() (look activity.Look) {
		text, err := r.clusters[0].client.Activity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &look); err != nil {
			t.Fatal(err)
		}
		return look
	}
	told, err := r.activity()
	if err != nil {
		t.Fatal(err)
	}
	if told.Name != "test" || told.Admin != r.AdminAddr() || told.Requests["denied"] == 0 || told.Requests["unlimited"] != 1 {
		t.Errorf("it tells %+v", told)
	}
	if own := told.Limits["two"]; own.Denied == 0 || own.Allowed != 0 || own.Denied >= told.Requests["denied"] {
		t.Errorf("of %v denials, it tells that it has made %+v itself", told.Requests["denied"], own)
	}
	seen := 0.0
	for _, n := range told.Latency.Counts {
		seen += n
	}
	if len(told.Latency.Counts) != len(told.Latency.Bounds)+1 || seen != told.Requests["admitted"]+told.Requests["denied"] {
		t.Errorf("the latencies of %v decisions are %+v", told.Requests, told.Latency)
	}
	r.until(t, "what the gateway tells", func() bool { return containsGateway(cluster(), "test") }) // a look is shared for a while
	if err := r.tell(t.Context(), &activity.Gateway{Name: "test", Leaves: true}); err != nil {
		t.Fatal(err)
	}
	r.until(t, "that it is forgotten", func() bool { return !containsGateway(cluster(), "test") })
}

// What passes, or is refused, without a decision is seen at the cluster by gateway and by limit, under the name that the limit has there: also where the gateway
// knows the cluster by a name. Limits of its other clusters are none of this one.
func TestTellingWhatIsUndecided(t *testing.T) {
	one := func(policy string) string { // at a node of its own: a look is shared for a while
		return strings.Replace(fmt.Sprintf(aText, planet(t), anUpstream(t).URL), "{limits: [two]}", "{limits: [missing], on_unavailable: "+policy+"}", 1)
	}
	two := strings.NewReplacer(
		"{cluster: region, limits: [four]}", "{cluster: region, limits: [four], on_unavailable: allow}",
		"{cluster: global, limits: [two]}", "{cluster: global, limits: [missing], on_unavailable: allow}",
	).Replace(twoClusters(anUpstream(t).URL, "127.0.0.1:1", planet(t)))
	for what, document := range map[string]string{"one cluster": one("allow"), "two with names": two, "one that denies": one("deny")} {
		t.Run(what, func(t *testing.T) {
			status, says := http.StatusOK, "gateway test lets "
			failed := func(r activity.Rates) float64 { return r.FailedOpen }
			failedOf := func(l *activity.LimitRates) float64 { return l.FailedOpen }
			if what == "one that denies" {
				status, says = http.StatusServiceUnavailable, "gateway test refuses "
				failed = func(r activity.Rates) float64 { return r.FailedClosed }
				failedOf = func(l *activity.LimitRates) float64 { return l.FailedClosed }
			}
			r := open(t, Config{}, document)
			r.until(t, "limits of the cluster", func() bool { return r.clusters[0].limits() != nil })
			r.until(t, "it tells", func() bool { return r.tellOnce(t.Context()) == nil })
			if a := r.get(t, r.ProxyAddr(), "/items", "X-Test: "+t.Name()); a.status != status {
				t.Fatalf("%+v", a)
			}
			r.until(t, "it tells", func() bool { return r.tellOnce(t.Context()) == nil })
			text, err := r.clusters[0].client.Activity(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var look activity.Look
			if err := json.Unmarshal(text, &look); err != nil {
				t.Fatal(err)
			}
			v := activity.Compare(activity.Look{}, look)
			if len(v.Gateways) != 1 || failed(v.Gateways[0].Rates) <= 0 || failed(v.Total) != failed(v.Gateways[0].Rates) || v.Total.FailedOpen*v.Total.FailedClosed > 0 {
				t.Errorf("the cluster says of its gateways: %+v", v.Gateways)
			}
			var undecided []string
			for i := range v.Limits {
				if failedOf(&v.Limits[i]) > 0 {
					undecided = append(undecided, v.Limits[i].Name)
				}
			}
			if !slices.Equal(undecided, []string{"missing"}) {
				t.Errorf("the cluster says that checks of %q had no decision, want those of missing", undecided)
			}
			if !slices.ContainsFunc(v.Problems, func(p activity.Problem) bool {
				return p.Severity == activity.Critical && strings.HasPrefix(p.What, says)
			}) {
				t.Errorf("the problems are %+v", v.Problems)
			}
		})
	}
}

// A gateway that lets requests of very many limits pass tells of those that matter most.
func TestTellingOfManyLimits(t *testing.T) {
	g := &activity.Gateway{Name: "edge", FailedOpen: map[string]float64{"most": 1000}}
	for i := range 5000 {
		g.FailedOpen[fmt.Sprintf("limit-%d", i)] = 1
	}
	text, err := fitting(g)
	if err != nil || len(text) > activity.MaxTold || len(text) < activity.MaxTold/4 || g.FailedOpen["most"] != 1000 || !strings.Contains(string(text), `"partial":true`) {
		t.Errorf("it tells %d bytes, %v: %.100s", len(text), err, text)
	}
	if err := activity.NewSource(activity.SourceConfig{}).Tell(text); err != nil {
		t.Error(err)
	}
}

// containsGateway says whether a look has a gateway that has not left.
func containsGateway(look activity.Look, name string) bool {
	for _, n := range look.Nodes {
		for _, g := range n.Gateways {
			if g.Name == name && !g.Leaves {
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
	c, err := client.New(client.Config{Servers: []string{l.Addr().String()}, Timeout: patience})
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
