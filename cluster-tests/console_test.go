package clustertests

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
	why "github.com/jeton-dev/jeton/ring/cluster/status"
	"github.com/jeton-dev/jeton/rpc/activity"
)

// consoleDocument is of a gateway that shows a console.
const consoleDocument = `name: edge
cluster: {servers: [%s]}
admin: {listen: %q}
forward_auth: {listen: "127.0.0.1:0"}
routes: [{name: api, path: /, checks: [{key: ["{header.X-Key}"], limits: [api]}]}]
`

// TestConsoleOfANodeThatIsLost kills a node, and freezes it as SIGSTOP does: the consoles of a node that is left, and of a gateway whose server it is,
// show which node it is, what is wrong, and what to do. When the node is back, they take that back.
func TestConsoleOfANodeThatIsLost(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, clusterLimits)
	lost := c.Members[1]
	g := c.PlanGateway("edge", filepath.Join(t.TempDir(), "gateway.yaml"))
	if err := os.WriteFile(g.Config, fmt.Appendf(nil, consoleDocument, lost.GRPC, g.Admin), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Begin(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the gateway serves", func() bool { return g.Serves(t.Context()) })
	consoles := map[string]<-chan activity.View{"node-1": followConsole(t, c.Members[0].HTTP), "the gateway": followConsole(t, g.Admin)}
	all := func(what, of string, so func(v *activity.View) bool) {
		t.Helper()
		began := time.Now()
		for who, views := range consoles {
			awaitView(t, who+": "+what+of, views, so)
			t.Logf("%s: %s%s after %v", who, what, of, time.Since(began).Round(time.Millisecond))
		}
	}
	well := func(v *activity.View) bool {
		wrong := slices.ContainsFunc(v.Problems, func(p activity.Problem) bool { return !strings.Contains(p.What, "is slow: ") }) // a disk of this machine may be
		return !wrong && len(v.Nodes) == 3 && len(v.Gateways) == 1 && v.Gateways[0].Name == "edge"
	}
	all("all is well", "", well)
	for how, change := range map[string]struct {
		lose, restore func()
		why, more     string // what is said of it, and where more is
	}{
		"killed": {lost.Kill, lost.Launch, why.NotReached, "when-it-fails.md#a-node-is-killed"},
		"frozen": {lost.Freeze, lost.Thaw, why.NotInTime, "when-it-fails.md#a-node-is-frozen-or-cut-off-without-a-word"},
	} {
		change.lose()
		all("node-2 is shown as one that is ", how, func(v *activity.View) bool {
			for i := range v.Problems {
				p := &v.Problems[i]
				if p.Node == lost.Name && p.Severity == activity.Warning && p.What == "node node-2 does not tell what it does: "+change.why && p.More == change.more && p.Do != "" {
					return true
				}
			}
			return false
		})
		all("one more lost node is said to stop keys when one is ", how, func(v *activity.View) bool {
			for i := range v.Problems {
				if strings.HasPrefix(v.Problems[i].What, "one more node that fails stops keys: node-2") {
					return true
				}
			}
			return false
		})
		change.restore()
		all("all is well after one was ", how, well)
	}
}

// awaitView waits for a view of a console that is so.
func awaitView(t *testing.T, what string, views <-chan activity.View, so func(*activity.View) bool) {
	t.Helper()
	late, last := time.After(process.Patience), activity.View{}
	for {
		select {
		case v, ok := <-views:
			if !ok {
				t.Fatal(what, ": the console ends its events")
			}
			if so(&v) {
				return
			}
			last = v
		case <-late:
			t.Fatalf("after minutes it is still not so: %s: %+v", what, last)
		}
	}
}

// followConsole follows the views of a console: the newest that was not taken, until the test ends.
func followConsole(t *testing.T, address string) <-chan activity.View {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	views, ended := make(chan activity.View, 1), make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/console/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	go func() {
		defer close(ended)
		defer close(views)
		readViews(t, res.Body, views)
	}()
	return views
}

// readViews reads the views in a stream of events, and keeps the newest that was not taken.
func readViews(t *testing.T, from io.Reader, views chan activity.View) {
	t.Helper()
	lines, event := bufio.NewScanner(from), ""
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			event = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || event != "view" {
			continue
		}
		var v activity.View
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			t.Error(err)
			return
		}
		select {
		case <-views:
		default:
		}
		views <- v
	}
}
