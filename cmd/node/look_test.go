package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/metrics/metricstest"
	"github.com/jeton-dev/jeton/rpc/activity"
	"github.com/jeton-dev/jeton/rpc/client"
)

// lookAt asks a node what all nodes are doing, as operators do.
func lookAt(t *testing.T, n *Node) activity.Look {
	t.Helper()
	c, err := client.New(client.Config{Servers: []string{n.GRPCAddr()}, Timeout: long})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	text, err := c.Activity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var look activity.Look
	if err := json.Unmarshal(text, &look); err != nil {
		t.Fatal(err)
	}
	return look
}

// fresh is a Look that was made after now, in which that many nodes tell what they do: on a machine that is busy, one may be late.
func fresh(t *testing.T, n *Node, tell int) (look activity.Look) {
	t.Helper()
	for asked := time.Now(); ; pass(50 * time.Millisecond) {
		look, told := lookAt(t, n), 0
		for i := range look.Nodes {
			if look.Nodes[i].Error == "" {
				told++
			}
		}
		if look.At.After(asked) && told == tell && look.Cluster != nil && look.Cluster.Leader != "" {
			return look
		}
	}
}

// TestLookAtThreeNodes has three nodes decide, and asks each what all of them do: what was decided between two looks is what was checked.
// One that has stopped is shown with why it does not tell, and the answer comes nevertheless.
func TestLookAtThreeNodes(t *testing.T) {
	r := newRig(t)
	all := started(r.founders(inMemory)...)
	nodes := make([]*Node, len(all))
	for i, s := range all {
		nodes[i], _ = s.running()
	}
	before, again := fresh(t, nodes[0], 3), -askedAgain(t, nodes...)
	allowed, denied, failed := 0.0, 0.0, 0.0
	for i := range 300 {
		d, err := nodes[i%3].decides.Check(t.Context(), limit.Request{Key: "k" + strconv.Itoa(rand.IntN(9)), Limits: []limit.Ref{limit.Named(kept)}})
		switch {
		case errors.Is(err, limit.ErrUnavailable): // of a machine that stood still; a node may have decided it
			failed++
		case err != nil:
			t.Fatal(err)
		case d.Allowed:
			allowed++
		default:
			denied++
		}
	}
	if failed > 30 || denied == 0 {
		t.Fatalf("%v were allowed, %v denied, and %v not decided", allowed, denied, failed)
	}
	after := fresh(t, nodes[1], 3)
	if len(after.Nodes) != 3 {
		t.Fatalf("node %s tells of %+v", after.Asked, after)
	}
	for i := range after.Nodes {
		if n := &after.Nodes[i]; n.Error != "" || n.Version == "" || n.ID == "" || n.Name != "node-"+strconv.Itoa(i+1) {
			t.Errorf("a node tells %+v", n)
		}
	}
	v := activity.Compare(before, after)
	sum := activity.LimitRates{}
	for i, n := range v.Nodes {
		seconds := after.Nodes[i].Now.Sub(before.Nodes[i].Now).Seconds()
		sum.Allowed += n.Allowed * seconds
		sum.Denied += n.Denied * seconds
	}
	// On a machine that is busy, a check that is passed on may be asked of a second node too, and count at both.
	again += failed + askedAgain(t, nodes...)
	if more := sum.Allowed + sum.Denied - allowed - denied; !near(sum.Allowed, allowed) && sum.Allowed < allowed || !near(sum.Denied, denied) && sum.Denied < denied || more > again+1e-3 {
		t.Errorf("the nodes say that %v were allowed and %v denied; it was %v and %v, and %v were asked again", sum.Allowed, sum.Denied, allowed, denied, again)
	}
	if err := all[2].stop(); err != nil {
		t.Fatal(err)
	}
	asked := time.Now()
	look := fresh(t, nodes[0], 2)
	t.Logf("with a node that has stopped, a look took %v at most", time.Since(asked))
	if len(look.Nodes) != 3 || look.Nodes[2].Error == "" {
		t.Errorf("got %+v", look.Nodes)
	}
}

// askedAgain is how often nodes have asked one more replica, since the first one did not answer soon: each time, a check may have been
// charged, and counted, once more.
func askedAgain(t *testing.T, nodes ...*Node) (sum float64) {
	t.Helper()
	for _, n := range nodes {
		sum += askedAgainBy(t, n.metrics)
	}
	return sum
}

// askedAgainBy is the same of a client, or of one node, with these metrics.
func askedAgainBy(t *testing.T, metrics prometheus.Gatherer) (sum float64) {
	t.Helper()
	for _, name := range []string{"jeton_client_hedges_total", "jeton_client_retries_total"} {
		for _, m := range metricstest.Gather(t, metrics, name) {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum
}

func near(a, b float64) bool { return a > b-1e-6*b-1e-6 && a < b+1e-6*b+1e-6 }

// checkAtOwner has the owner of a key decide. A node that passes a check on asks a second replica too where the owner is not quick enough,
// and both charge it. Again, by an id, where it was not decided on a machine that stood still.
func checkAtOwner(t *testing.T, all []*seat, request limit.Request) {
	t.Helper()
	request.ID = fmt.Sprint(rand.Uint64())
	for range 10 {
		for _, s := range all {
			n, _ := s.running()
			if n.member.router.First(request.Key) != "" {
				continue
			}
			switch _, err := n.decides.Check(t.Context(), request); {
			case err == nil:
				return
			case !errors.Is(err, limit.ErrUnavailable):
				t.Fatal(err)
			}
		}
	}
	t.Fatalf("no owner decides about %s", request.Key)
}

// TestKeysOfThreeNodes finds keys wherever they are, and says which node did not answer.
func TestKeysOfThreeNodes(t *testing.T) {
	r := newRig(t)
	all := started(r.founders(inMemory)...)
	first, _ := all[0].running()
	for i := range 30 {
		checkAtOwner(t, all, limit.Request{Key: "user:" + strconv.Itoa(10+i), Limits: []limit.Ref{limit.Named(kept)}})
	}
	c, err := client.New(client.Config{Servers: []string{first.GRPCAddr()}, Timeout: long})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	search := func(q client.KeysAsked, silent int) (found activity.KeysFound) {
		t.Helper()
		for ; ; pass(50 * time.Millisecond) { // on a machine that is busy, a node may be late
			text, err := c.Keys(t.Context(), q)
			found = activity.KeysFound{}
			if err == nil {
				err = json.Unmarshal(text, &found)
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(found.Silent) == silent {
				return found
			}
		}
	}
	found := search(client.KeysAsked{Prefix: "user:", Limit: kept}, 0)
	if len(found.Keys) != 30 || !found.Complete || len(found.Silent) != 0 || found.Keys[0].Key != "user:10" {
		t.Errorf("found %+v", found)
	}
	deciders := map[string]bool{}
	for _, k := range found.Keys {
		deciders[k.Node] = true
		if len(k.Buckets) != 1 || k.Buckets[0] != (activity.Bucket{Limit: kept, Capacity: 20, Remaining: 19, Used: k.Buckets[0].Used}) || !near(k.Buckets[0].Used, 0.05) {
			t.Errorf("got %+v", k)
		}
	}
	if len(deciders) < 2 {
		t.Errorf("only %v have keys", deciders)
	}
	if few := search(client.KeysAsked{Prefix: "user:", Most: 7}, 0); len(few.Keys) != 7 || few.Complete || few.Keys[6].Key != "user:16" {
		t.Errorf("found %+v", few)
	}
	if err := all[2].stop(); err != nil {
		t.Fatal(err)
	}
	if found := search(client.KeysAsked{Prefix: "user:"}, 1); found.Complete || found.Silent[0] != "node-3" {
		t.Errorf("found %+v", found)
	}
}

// TestLookAtOneNode asks a node that is alone.
func TestLookAtOneNode(t *testing.T) {
	n := around(t, true)
	c, err := client.New(client.Config{Servers: []string{n.GRPCAddr()}, Timeout: long})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := c.Check(t.Context(), limit.Request{Key: "k", Limits: []limit.Ref{limit.Named("nowhere")}}); err == nil {
		t.Error("a limit that does not exist has decided")
	}
	look := lookAt(t, n)
	if look.Nodes[0].Errors["NotFound"] != 1 || len(look.Nodes[0].Errors) != 1 {
		t.Errorf("the errors are %v, want one", look.Nodes[0].Errors)
	}
	if len(look.Nodes) != 1 || look.Cluster != nil || look.Nodes[0].Error != "" || look.Nodes[0].Ready != "" {
		t.Errorf("got %+v", look)
	}
	if n := look.Nodes[0]; len(n.Fsync.Counts) == 0 || n.DiskUsed == 0 {
		t.Errorf("of the disk it tells %+v, %d used and %d free", n.Fsync, n.DiskUsed, n.DiskFree)
	}
}

// TestErrorsByLimit has checks fail in every way in which a node can be asked, of keys of every node, and finds each once, under its limit.
func TestErrorsByLimit(t *testing.T) {
	r := newRig(t)
	all := started(r.founders(inMemory, func(c *Config) { c.ListenHTTP = "127.0.0.1:0" })...)
	nodes := make([]*Node, len(all))
	for i, s := range all {
		nodes[i], _ = s.running()
	}
	fails := limit.Request{Limits: []limit.Ref{limit.Named(kept)}, Plan: "no-such-plan"}
	again := 0.0
	for i := range 30 {
		n := nodes[i%3]
		fails.Key = "k" + strconv.Itoa(rand.IntN(99))
		metrics := prometheus.NewRegistry()
		c, err := client.New(client.Config{Servers: []string{n.GRPCAddr()}, Timeout: long, Registerer: metrics})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Check(t.Context(), fails); err == nil {
			t.Error("a check by a plan that there is not was decided")
		}
		for _, result := range c.CheckBatch(t.Context(), []limit.Request{fails, {Key: fails.Key, Limits: []limit.Ref{limit.Named("no-such-limit")}}}) {
			if result.Err == nil {
				t.Error("a check of a batch was decided")
			}
		}
		again += askedAgainBy(t, metrics)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		body := strings.NewReader(`{"key":"` + fails.Key + `","limits":["` + kept + `"],"plan":"no-such-plan"}`)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.HTTPAddr()+"/v1/check", body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if _ = res.Body.Close(); res.StatusCode/100 != 4 || res.StatusCode == http.StatusTooManyRequests {
			t.Errorf("over HTTP: %s", res.Status)
		}
	}
	found := map[string]float64{}
	for _, n := range fresh(t, nodes[0], 3).Nodes {
		for name, c := range n.Limits {
			found[name] += c.Errors
		}
	}
	// On a machine that is busy, the client or a node may ask a second node too.
	again += askedAgain(t, nodes...)
	if at, unknown := found[kept], found["(unknown)"]; at < 90 || at > 90+again || unknown < 30 || unknown > 30+again || len(found) != 2 {
		t.Errorf("errors by limit are %v, want 90 of %s and 30 of (unknown), and of both at most %v more, which were asked again", found, kept, again)
	}
}
