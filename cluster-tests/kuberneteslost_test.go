package clustertests

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// TestKubernetesMajorityLost loses the volumes of two nodes of three. Kubernetes starts their pods again at once, with empty volumes: they
// found no other cluster and decide nothing, and the operator recovers at the one that is left, by the command of docs/kubernetes.md.
func TestKubernetesMajorityLost(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes networks")
	}
	t.Parallel()
	binary := process.Build(t) // once, outside
	network.Run(t, func(lab *network.Lab) {
		k := newKubelet(t, lab, binary, readManifest(t, "limits"))
		pods := []*pod{k.start("jeton-0"), k.start("jeton-1"), k.start("jeton-2")}
		k.ready(pods...)
		k.settled(pods[0], 3)
		if status := k.mustDecide(pods[0], "saver"); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		for _, p := range pods[1:] {
			p.Kill()
			k.wipe(p.name)
		}
		for i := range pods[1:] {
			pods[i+1] = k.start(pods[i+1].name)
		}
		pods[1].WaitForLog("waiting for more nodes to found a cluster|has not admitted this node yet")
		if status := k.ask(pods[1], "saver"); status == http.StatusOK {
			t.Fatal("a node with an empty volume decides before the recovery")
		}
		k.recover(pods[0], "jeton-1,jeton-2")
		k.ready(pods...)
		k.settled(pods[0], 3)
		if status := k.mustDecide(pods[2], "saver"); status != http.StatusTooManyRequests {
			t.Errorf("after a recovery the answer is %d, want every bucket emptied", status)
		}
	})
}

// recover recovers a cluster at a pod. It is asked for again where the name of a pod that has just started still leads to its old address.
func (k *kubelet) recover(p *pod, lost string) {
	k.Helper()
	for late := time.Now().Add(process.Patience); ; {
		out, err := k.run(p.host, p.env, []string{"cluster", "recover", "--lost", lost, "--yes"})
		k.Log(out)
		if err == nil {
			return
		}
		if !strings.Contains(out, "cannot be reached") || time.Now().After(late) {
			k.Fatalf("jeton cluster recover: %v: %s", err, out)
		}
		<-time.After(time.Second)
	}
}

// TestKubernetesGrowsFromOne starts the one node of a cluster again with two more beside it.
func TestKubernetesGrowsFromOne(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes networks")
	}
	t.Parallel()
	binary := process.Build(t) // once, outside
	network.Run(t, func(lab *network.Lab) {
		k := newKubelet(t, lab, binary, readManifest(t, "single"))
		alone := k.start("jeton-0")
		k.ready(alone)
		before := k.exec(alone, "cluster", "status", "--output", "json")
		k.remove(alone)
		k.forget(alone)
		k.manifest = readManifest(t, "grown")
		pods := []*pod{k.start("jeton-0"), k.start("jeton-1"), k.start("jeton-2")}
		k.ready(pods...)
		for _, n := range k.settled(pods[0], 3).Nodes {
			if n.Name == "jeton-0" && !strings.Contains(before, n.ID) {
				t.Errorf("jeton-0 is %s, and was another node before:\n%s", n.ID, before)
			}
		}
	})
}

// mustDecide is ask, again while nothing is decided, as where the machine stalls.
func (k *kubelet) mustDecide(p *pod, key string) (status int) {
	k.Helper()
	eventually(k.T, p.name+" decides", func() bool {
		status = k.ask(p, key)
		return status == http.StatusOK || status == http.StatusTooManyRequests
	})
	return status
}

// ask asks a pod for a check of the limit slow, and returns the status of the answer.
func (k *kubelet) ask(p *pod, key string) int {
	k.Helper()
	return request(k.T, http.MethodPost, "http://"+p.address+":7702/v1/check", `{"key":"`+key+`","limits":["slow"]}`).status
}
