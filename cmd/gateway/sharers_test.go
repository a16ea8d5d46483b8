package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Another number of gateways counts for local limits from the reload on: of a limit of eight, one of four gateways passes two, and a gateway that is alone all.
func TestReloadOfTheNumberOfGateways(t *testing.T) {
	n, _ := ownCluster(t, "limits: {two: {capacity: 2, refill: 1/h}, shared: {capacity: 8, refill: 1/h, consistency: local, share: divided}}", true)
	text := strings.Replace(fmt.Sprintf(aText, n.GRPCAddr(), anUpstream(t).URL), "decide_within: 5s", "decide_within: 5s, gateways: 4", 1) +
		"- {name: shared, path: /shared, checks: [{limits: [shared], key: [\"{header.X-K}\"]}]}\n"
	r := open(t, Config{}, text)
	r.heard(t)
	passed := func(key string) (n int) {
		for range 20 {
			if r.get(t, r.ProxyAddr(), "/shared", "X-K: "+key).status == http.StatusOK {
				n++
			}
		}
		return n
	}
	if got := passed("a"); got != 2 {
		t.Errorf("one of four gateways passes %d of 8, want 2", got)
	}
	write(t, r.path, strings.Replace(text, "gateways: 4", "gateways: 1", 1))
	if err := r.Reload(); err != nil {
		t.Fatal(err)
	}
	if got := passed("b"); got != 8 {
		t.Errorf("a gateway that is alone passes %d of 8, want 8", got)
	}
}
