package clustertests

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// TestKubernetes acts out what docs/kubernetes.md says, with the command lines that the chart renders, under load: three nodes found a cluster,
// two more join it, helm upgrade to three nodes drains and removes those, a node is lost with its disk, and all pods are replaced one after
// another, each with another address. No check fails, and no key is over its bound.
func TestKubernetes(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes networks")
	}
	t.Parallel()
	binary := process.Build(t) // once, outside
	network.Run(t, func(lab *network.Lab) {
		k := newKubelet(t, lab, binary, readManifest(t, "limits"))
		pods := []*pod{k.start("jeton-0"), k.start("jeton-1"), k.start("jeton-2")}
		k.ready(pods...)
		for _, o := range k.manifest.hooks("test") {
			k.job(o)
		}
		if limits := k.exec(pods[1], "limits", "get"); !strings.Contains(limits, "slow:") {
			t.Errorf("the cluster has not begun with the limits of the chart:\n%s", limits)
		}
		d := k.drill(pods[0])
		for _, n := range k.settled(pods[0], 3).Nodes {
			if want := "zone-" + n.Name[len(n.Name)-1:]; n.Zone != want {
				t.Errorf("%s is in zone %q, want that of its pod's label, %q", n.Name, n.Zone, want)
			}
		}
		k.grow(d, pods[0])
		k.shrink(d, pods[0])
		pods[2] = k.lose(d, pods[2])
		k.roll(d, pods)
		d.end(false)
	})
}

// drill begins a load on the names that the chart gives the nodes.
func (k *kubelet) drill(p *pod) *drill {
	k.Helper()
	var servers []string
	for i := range 3 {
		servers = append(servers, inDNS(fmt.Sprintf("jeton-%d", i))+":7700")
	}
	c, err := client.New(client.Config{Servers: servers})
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(func() { c.Close() }) //nolint:errcheck // nothing is asked any more
	d := &drill{
		T: k.T, cluster: &process.Cluster{Members: []*process.Member{{Node: p.Node, Name: p.name}}},
		checker: c, perSecond: perSecond / 10, keys: clusterKeys / 10,
	}
	d.begin()
	return d
}

// grow is helm upgrade with five replicas: no pod that runs is another one afterwards.
func (k *kubelet) grow(d *drill, first *pod) {
	k.Helper()
	k.upgrade("five", 5)
	k.ready(k.start("jeton-3"), k.start("jeton-4"))
	k.settled(first, 5)
	d.load.Answered(d.perSecond)
}

// shrink is helm upgrade with three replicas again.
func (k *kubelet) shrink(d *drill, first *pod) {
	k.Helper()
	k.upgrade("shrinking", 3)
	before, after := k.manifest.hooks("pre-upgrade"), k.manifest.hooks("post-upgrade")
	if len(before) != 1 || len(after) != 2 {
		k.Fatalf("the chart has %d Jobs before the upgrade and %d after it, want 1 and 2", len(before), len(after))
	}
	for _, o := range before {
		k.job(o)
	}
	four, three := k.pods["jeton-4"], k.pods["jeton-3"]
	k.remove(four)
	k.forget(four)
	for _, o := range after { // helm does not wait until all pods have ended
		k.job(o)
	}
	if code := three.Stop(); code != 0 && !strings.Contains(three.Log(), "removed") {
		k.Errorf("jeton-3 ended with exit code %d; it said:\n%s", code, three.Log())
	}
	k.Logf("jeton-3 was removed while it ran; its last words: %s", last(three.Log(), 300))
	k.forget(three)
	k.settled(first, 3)
	d.load.Answered(d.perSecond)
}

// last are the last bytes of a text.
func last(text string, n int) string { return text[max(0, len(text)-n):] }

// upgrade puts another rendering in the place of the present one: with more or fewer nodes, and with the same pods.
func (k *kubelet) upgrade(name string, replicas int) {
	k.Helper()
	before := k.manifest.find(k.T, "StatefulSet", "jeton").Spec
	k.manifest = readManifest(k.T, name)
	after := k.manifest.find(k.T, "StatefulSet", "jeton").Spec
	if after.Replicas != replicas {
		k.Errorf("%s has %d replicas, want %d", name, after.Replicas, replicas)
	}
	if !reflect.DeepEqual(before.Template, after.Template) {
		k.Errorf("scaling changes the pods' template, and so restarts all of them:\n%+v\n%+v", before.Template, after.Template)
	}
}

// lose kills a pod and deletes its volume. Its next pod has the same name, an empty volume and another address.
func (k *kubelet) lose(d *drill, p *pod) *pod {
	k.Helper()
	before := k.settled(k.pods["jeton-0"], 3)
	p.Kill()
	k.forget(p)
	d.load.Answered(d.perSecond)
	k.wipe(p.name)
	next := k.start(p.name)
	k.ready(next)
	after := k.settled(k.pods["jeton-0"], 3)
	for i, n := range after.Nodes {
		if old := before.Nodes[i]; n.Name == p.name && (n.ID == old.ID || n.Replica != old.Replica) {
			k.Errorf("%s was %+v, and is %+v: want a new id and the old places", p.name, old, n)
		}
	}
	d.load.Answered(d.perSecond)
	return next
}

// roll replaces all pods as a StatefulSet does: the last one first, and each when the one before it is ready.
func (k *kubelet) roll(d *drill, pods []*pod) {
	k.Helper()
	for i := len(pods) - 1; i >= 0; i-- {
		k.remove(pods[i])
		k.forget(pods[i])
		pods[i] = k.start(pods[i].name)
		k.ready(pods[i])
		d.load.Answered(d.perSecond / 2)
	}
	k.settled(pods[0], 3)
}
