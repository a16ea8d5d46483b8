package clustertests

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/cluster/health"
)

// TestTwoOfThreeKilled: the node that is left says at once that it can decide nothing, to load balancers and to people, and
// takes it back when the others return.
func TestTwoOfThreeKilled(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, clusterLimits)
	left := c.Members[0]
	healthy := func() bool {
		status, body := readyz(t, left, "")
		return status == http.StatusOK && body == "ready\n" && statusOf(t, c, left).Deciding.Verdict == ring.DecidesAll
	}
	eventually(t, "all is well at first", healthy)

	killed := time.Now()
	c.Members[1].Kill()
	c.Members[2].Kill()
	const why = "no key can be decided: 2 of 3 nodes do not answer: node-2 and node-3"
	eventually(t, "/readyz says that nothing is decided", func() bool {
		status, body := readyz(t, left, "")
		return status == http.StatusServiceUnavailable && body == "not ready: "+why+"\n"
	})
	t.Logf("/readyz said so %v after the kill", time.Since(killed).Round(time.Millisecond))
	s := statusOf(t, c, left)
	if s.Deciding.String() != why {
		t.Errorf("cluster status --output json says: %+v", s.Deciding)
	}
	for _, n := range s.Nodes[1:] {
		if n.Answering != health.Unreachable || n.SilentSeconds <= 0 {
			t.Errorf("%s is %s for %v s", n.Name, n.Answering, n.SilentSeconds)
		}
	}
	text, _, code := c.Run(left, "cluster", "status")
	if !strings.HasPrefix(text, why+", as node-1 sees it\n") || strings.Count(text, "unreachable for ")+strings.Count(text, "gone for ") != 2 || code != 1 {
		t.Errorf("cluster status ends with %d:\n%s", code, text)
	}
	t.Logf("cluster status said so %v after the kill:\n%s", time.Since(killed).Round(time.Millisecond), text)

	c.Members[1].Launch()
	back := time.Now()
	eventually(t, "all is well again with two of three", healthy)
	t.Logf("/readyz and cluster status took it back %v after the start", time.Since(back).Round(time.Millisecond))
	c.Members[2].Launch()
	eventually(t, "every node answers", func() bool {
		for _, n := range statusOf(t, c, left).Nodes {
			if n.Answering != health.Answers {
				return false
			}
		}
		return true
	})
}

// TestTwoOfFiveKilled: with three replicas of each key, some partitions have lost two of them. A load balancer leaves the
// node in, unless it wants every key.
func TestTwoOfFiveKilled(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 5, clusterLimits)
	left := c.Members[0]
	eventually(t, "all is well at first", func() bool { return statusOf(t, c, left).Deciding.Verdict == ring.DecidesAll })
	c.Members[3].Kill()
	c.Members[4].Kill()
	eventually(t, "/readyz says which keys are not decided", func() bool {
		status, body := readyz(t, left, "")
		return status == http.StatusOK && strings.HasPrefix(body, "degraded: partitions ") &&
			strings.HasSuffix(body, " of 271) cannot be decided: replicas node-4 and node-5 do not answer\n")
	})
	// Where the machine stalls, another node does not answer for a moment either.
	eventually(t, "/readyz?strict says so with a failure", func() bool {
		status, body := readyz(t, left, "?strict")
		return status == http.StatusServiceUnavailable && strings.HasPrefix(body, "degraded: partitions ")
	})
	eventually(t, "cluster status says so, and strictly with a failure", func() bool {
		text, _, code := c.Run(left, "cluster", "status")
		_, _, strictly := c.Run(left, "cluster", "status", "--strict")
		first, _, _ := strings.Cut(text, "\n")
		t.Logf("exit codes %d and %d: %s", code, strictly, first)
		return code == 0 && strictly == 1 &&
			strings.HasSuffix(first, " of 271 partitions cannot be decided: replicas node-4 and node-5 do not answer, as node-1 sees it")
	})
}

// readyz asks a node whether it is ready.
func readyz(t *testing.T, m *process.Member, query string) (status int, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.HTTP+"/readyz"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text)
}

// statusOf is what jeton cluster status says at a node.
func statusOf(t *testing.T, c *process.Cluster, m *process.Member) (s cluster.Status) {
	t.Helper()
	c.Status(m, &s)
	return s
}
