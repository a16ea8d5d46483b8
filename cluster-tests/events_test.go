package clustertests

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// An event is one thing that happens to a cluster under load, in a small test with its story: TestEvent… What the
// events have in common stands here. With -long they last as long as the stories say; in CI they are shorter.

// A calm load leaves room for other tests beside it: as many checks for each key as the usual load, and fewer keys.
const (
	calmPerSecond = 300
	calmKeys      = calmPerSecond * clusterKeys / perSecond
)

// calmly puts a calm load on a cluster.
func calmly(t *testing.T, c *process.Cluster) *drill {
	t.Helper()
	d := &drill{T: t, cluster: c, perSecond: calmPerSecond, keys: calmKeys}
	d.begin()
	return d
}

// newCalm starts a cluster of three nodes and a calm load on it.
func newCalm(t *testing.T, args ...string) *drill {
	t.Helper()
	return calmly(t, process.StartCluster(t, process.Build(t), 3, clusterLimits, args...))
}

// pass lets some time pass.
func (d *drill) pass(long time.Duration) {
	d.Helper()
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.Context().Done():
		d.Fatal("the test was ended")
	}
}

// until asks again and again until something is so. The patience only ends tests that hang.
func (d *drill) until(what string, so func() bool) {
	d.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(process.Patience); !so(); <-tick.C {
		if time.Now().After(end) {
			d.logs()
			d.Fatalf("it is still not so that %s", what)
		}
	}
}

// metric is what a node tells of itself under this name, all labels together that contain the text.
func (d *drill) metric(m *process.Member, name, label string) (sum float64) {
	d.Helper()
	for line := range strings.Lines(request(d.T, http.MethodGet, "http://"+m.HTTP+"/metrics", "").body) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		labels, found := strings.CutPrefix(series, name)
		if !found || labels != "" && labels[0] != '{' || !strings.Contains(labels, label) {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			d.Fatalf("%s: %v", line, err)
		}
		sum += n
	}
	return sum
}

// decisions is how many checks a node has decided, by what the usual limit says.
func (d *drill) decisions(m *process.Member) float64 {
	d.Helper()
	return d.metric(m, "jeton_decisions_total", `"api"`)
}

// serves returns when a node is ready and decides checks of the load again.
func (d *drill) serves(m *process.Member) {
	d.Helper()
	m.Ready()
	before := d.decisions(m)
	d.until(m.Name+" decides checks again", func() bool { return d.decisions(m) > before })
}
