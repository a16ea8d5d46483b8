package clustertests

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/gateway/fallback"
)

// A client goes on after its limit is exhausted: nearly all of its requests are denied by the gateway alone, explain says so, and what
// an operator fills is heard of within a second.
func TestRepeatedDenials(t *testing.T) {
	t.Parallel()
	s := newSite(t, 3)
	s.repeats = "1s"
	g := s.startGateway("proxy.yaml")
	ask := func() response { return s.send(http.MethodGet, g.proxy, "/items/1", "", known(0)) }
	s.exhaust(ask)

	start, asked, repeated, hedges := time.Now(), s.decidedBy(g, "cluster"), s.decidedBy(g, "known"), s.hedges()
	ids := map[string]bool{}
	stalled := false
	for range 1000 {
		switch a := ask(); a.status {
		case http.StatusOK: // a token has come in
		case http.StatusServiceUnavailable:
			stalled = true
		case http.StatusTooManyRequests:
			if !strings.Contains(a.header.Get("RateLimit"), "r=0") {
				s.Errorf("a denial tells %v", a.header)
			}
			ids[s.refused(a, http.MethodGet).body] = true
		default:
			s.Fatalf("%d %v %s", a.status, a.header, a.body)
		}
	}
	seconds := int(time.Since(start)/time.Second) + 1
	asked, repeated = s.decidedBy(g, "cluster")-asked, s.decidedBy(g, "known")-repeated
	t.Logf("of 1000 requests in %d s the cluster decided %d, and the gateway repeated %d denials", seconds, asked, repeated)
	if stalled = stalled || s.hedges() != hedges; stalled {
		t.Log("the machine has stalled: another node than the first was asked, whose denials are not repeated")
	} else {
		if asked+repeated != 1000 || asked > 4*seconds || len(ids) < repeated {
			s.Errorf("the cluster decided %d in %d s, and the gateway repeated %d; %d ids", asked, seconds, repeated, len(ids))
		}
		s.knownSince(g, ids)
	}

	s.exhaust(ask)
	s.refill()
	filled := time.Now()
	for ask().status != http.StatusOK {
		if took := time.Since(filled); took > process.Patience {
			s.Fatalf("the bucket was filled %v ago, and the gateway does not know", took)
		}
	}

	dir := t.TempDir()
	wrong := filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(wrong, []byte("cluster:\n  repeat_denials: 2s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := process.Run(t, process.Build(t), "gateway", "--config", wrong, "--check"); code == 0 ||
		!strings.Contains(errs, "gateway.yaml:2: cluster.repeat_denials: 2s is out of range: at least 0s and at most 1s") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// exhaust asks until the limit denies.
func (s *site) exhaust(ask func() response) {
	s.Helper()
	for range 100 * siteCapacity {
		switch a := ask(); a.status {
		case http.StatusTooManyRequests:
			return
		case http.StatusOK, http.StatusServiceUnavailable:
		default:
			s.Fatalf("%d %v %s", a.status, a.header, a.body)
		}
	}
	s.Fatal("the limit admits everything")
}

// decidedBy is how many checks of the gateway were decided by source.
func (s *site) decidedBy(g *gatewayProcess, source string) int {
	s.Helper()
	_, text, err := s.get("http://" + g.admin + "/metrics")
	if err != nil {
		s.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^jeton_fallback_checks_total\{source="` + source + `"\} (\d+)$`).FindStringSubmatch(text)
	if found == nil {
		s.Fatalf("the gateway does not count checks by %s", source)
	}
	n, _ := strconv.Atoi(found[1])
	return n
}

// knownSince looks up one of the denials that was repeated.
func (s *site) knownSince(g *gatewayProcess, ids map[string]bool) {
	s.Helper()
	for id := range ids {
		_, body, err := s.get("http://" + g.admin + "/v1/denials/" + id)
		if err != nil {
			s.Fatal(err)
		}
		var record struct {
			At         time.Time `json:"at"`
			Source     string    `json:"source"`
			KnownSince time.Time `json:"known_since"`
		}
		if err := json.Unmarshal([]byte(body), &record); err != nil {
			s.Fatalf("%s: %v", body, err)
		}
		if record.Source != "known" {
			continue
		}
		if age := record.At.Sub(record.KnownSince); age < -time.Millisecond || age > fallback.MaxKnown {
			s.Errorf("the denial was known for %v: %s", age, body)
		}
		out, errs, code := process.Run(s.T, process.Build(s.T), "explain", id, "--gateway", g.admin)
		if code != 0 || !strings.Contains(out, "by a denial of the cluster that still held, known since ") {
			s.Errorf("jeton explain: exit code %d: %s%s", code, out, errs)
		}
		return
	}
	s.Error("no denial is explained as one that was known")
}
