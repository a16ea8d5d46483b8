package clustertests

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// TestKubernetesGateway runs a gateway of the chart beside its nodes: it becomes ready, and passes on to what is behind it no more than the
// cluster admits.
func TestKubernetesGateway(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes networks")
	}
	t.Parallel()
	binary := process.Build(t) // once, outside
	network.Run(t, func(lab *network.Lab) {
		k := newKubelet(t, lab, binary, readManifest(t, "doors"))
		pods := []*pod{k.start("jeton-0"), k.start("jeton-1"), k.start("jeton-2")}
		k.ready(pods...)
		var reached atomic.Int64
		shop := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		var err error
		if shop.Listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", k.lab.Router("shop")+":8080"); err != nil {
			t.Fatal(err)
		}
		shop.Start()
		t.Cleanup(shop.Close)
		file := filepath.Join(t.TempDir(), "limits.yaml")
		if err := os.WriteFile(file, []byte("limits: {api: {capacity: 5, refill: 1/h, on_unavailable: deny}}"), 0o600); err != nil {
			t.Fatal(err)
		}
		k.exec(pods[1], "limits", "apply", "--file", file)
		gateway := k.launch("jeton-gateway-x", k.manifest.find(t, "Deployment", "jeton-gateway").Spec.Template.Spec)
		k.ready(gateway)
		// What passes before the gateway knows the limit, or has its first decision in time, is no matter here.
		for late := time.Now().Add(process.Patience); ; {
			got := request(t, http.MethodGet, "http://"+gateway.address+":7780/", "")
			if got.status == http.StatusTooManyRequests && strings.Contains(got.body, "the limit api is exhausted") && reached.Load() > 0 {
				break
			}
			if time.Now().After(late) {
				t.Fatalf("answered %d after minutes, %d passed: %s\n%s", got.status, reached.Load(), got.body, gateway.Log())
			}
			<-time.After(20 * time.Millisecond)
		}
		if code := gateway.Stop(); code != 0 {
			t.Errorf("the gateway ended with exit code %d: %s", code, gateway.Log())
		}
	})
}
