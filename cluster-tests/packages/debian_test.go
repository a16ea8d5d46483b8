package packages

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// keyFile is where the configuration that the package brings expects the cluster key.
const keyFile = "/etc/jeton/cluster-key"

// limits has one that does not fill again while a test runs, so that what was admitted before an upgrade counts after it.
const limits = "limits:\n  demo: {algorithm: token-bucket, capacity: 50, refill: 1/24h, on_unavailable: deny}\n"

// capacity is that of the limit demo. Half of it is spent before the upgrade: so many more would pass if that were forgotten.
const capacity, spentBefore = 50, 25

// A bare Debian gets the package of the version before, and is a node of three with a gateway, by the command lines of the units. Then it gets
// the new one, and in the end none.
func TestDebian(t *testing.T) {
	machines := make([]*machine, 3)
	for i := range machines {
		machines[i] = newMachine(t, debian(t), fmt.Sprintf("127.0.0.%d", i+1))
		machines[i].installs()
		machines[i].configure(string(rune('a'+i)), len(machines))
	}
	nodes := make([]*daemon, len(machines))
	for i, m := range machines {
		nodes[i] = m.begin("jeton.service")
	}
	for _, m := range machines {
		m.decidesAll()
	}
	first := machines[0]
	first.waits()
	gateway := first.begin("jeton-gateway.service")
	awaitHTTP(t, "http://127.0.0.1:7781/readyz")
	for range spentBefore {
		first.mustAsk(http.StatusOK)
	}
	machines[1].check("allowed", 0) // of another key

	for i, m := range machines {
		m.upgrades(nodes[i])
		nodes[i].stop()
		nodes[i] = m.begin("jeton.service")
		m.await("health", "--server", m.address+":7700", "--cluster-key-file", keyFile)
		m.decidesAll()
		m.isHealthy()
		first.mustAsk(http.StatusOK)
	}
	gateway.stop()
	gateway = first.begin("jeton-gateway.service")
	first.await("health", "--gateway", "127.0.0.1:7781")
	// What was admitted before the upgrade counts. A check whose first node was silent is asked of a second one, and may be charged twice.
	if admitted := spentBefore + len(machines) + first.exhausts(); admitted > capacity {
		t.Errorf("%d requests have passed before and after the upgrade, of a bucket of %d", admitted, capacity)
	}
	gateway.stop()
	for i, m := range machines {
		nodes[i].stop()
		m.removes()
	}
}

// installs installs the package of the version before: it makes a user and directories, starts nothing, and says what to do.
func (m *machine) installs() {
	m.Helper()
	said := m.must("dpkg", "-i", m.bring(m.packageOf("before")))
	for _, want := range []string{"nothing was started", "edit jeton.yaml first", "systemctl enable --now jeton"} {
		if !strings.Contains(said, want) {
			m.Errorf("the installation does not say %q:\n%s", want, said)
		}
	}
	for path, want := range map[string]string{"/etc/jeton": "root:root", "/var/lib/jeton": "jeton:jeton", "/usr/bin/jeton": "root:root"} {
		if got := m.owner(path); got != want {
			m.Errorf("%s belongs to %s, want %s", path, got, want)
		}
	}
	if mode, is := m.has("/var/lib/jeton"); !is || mode != 0o700 {
		m.Errorf("/var/lib/jeton: %v, %o, want 0700", is, mode)
	}
	if running := m.running(); len(running) > 0 {
		m.Errorf("the installation has started %v", running)
	}
	for _, path := range []string{"/usr/share/man/man1/jeton-serve.1.gz", "/usr/share/bash-completion/completions/jeton", "/usr/share/doc/jeton/copyright"} {
		if _, is := m.has(path); !is {
			m.Errorf("%s is missing", path)
		}
	}
}

// packageOf is the deb of a version: before or now.
func (m *machine) packageOf(version string) string {
	m.Helper()
	found, err := filepath.Glob(filepath.Join(folder(m.T), version, "*.deb"))
	if err != nil || len(found) != 1 {
		m.Fatalf("packages of %s: %q, %v", version, found, err)
	}
	return found[0]
}

// running are the processes of the machine's jeton, by the file that they run.
func (m *machine) running() (pids []string) {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		m.Fatal(err)
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, m.root+"/usr/bin/jeton") {
			pids = append(pids, filepath.Base(filepath.Dir(link)))
		}
	}
	return pids
}

// configure makes the machine one of so many nodes, by the lines that stand as comments in the file that the package brings.
func (m *machine) configure(name string, of int) {
	m.Helper()
	before, example, found := strings.Cut(m.read("/etc/jeton/jeton.yaml"), "# node-name: a\n")
	if !found {
		m.Fatal("jeton.yaml has no example of a cluster any more")
	}
	example = strings.ReplaceAll("# node-name: "+name+"\n"+example, "# ", "")
	var join []string
	for i := range of {
		join = append(join, fmt.Sprintf("127.0.0.%d:7701", i+1))
	}
	example = strings.Replace(example, "[10.0.0.1:7701, 10.0.0.2:7701, 10.0.0.3:7701]", "["+strings.Join(join, ", ")+"]", 1)
	example = strings.ReplaceAll(example, "10.0.0.1:", m.address+":")
	m.write("/etc/jeton/jeton.yaml", before+example, 0o644)
	m.write("/etc/jeton/limits.yaml", limits, 0o644)
	m.write(keyFile, strings.Repeat("0123456789abcdef", 4)+"\n", 0o640)
	m.must("chgrp", "jeton", keyFile)
}

// waits has the machine's gateway wait for decisions, however busy the machine is.
func (m *machine) waits() {
	m.Helper()
	const path, cluster = "/etc/jeton/gateway.yaml", "cluster:\n"
	before := m.read(path)
	if !strings.Contains(before, cluster) {
		m.Fatalf("%s has no %q", path, cluster)
	}
	m.write(path, strings.Replace(before, cluster, cluster+"  decide_within: 30s\n", 1), 0o644)
}

// exhausts asks the machine's gateway until it denies, and returns how many requests have passed.
func (m *machine) exhausts() (passed int) {
	m.Helper()
	for range 2 * capacity {
		switch status, err := get(m.T, auth("127.0.0.1")); status {
		case http.StatusOK:
			passed++
		case http.StatusTooManyRequests:
			return passed
		case http.StatusServiceUnavailable: // it may have been charged
		default:
			m.Fatalf("the gateway answers %d: %v", status, err)
		}
	}
	m.Fatalf("none of %d requests was denied, and %d have passed, of a bucket of %d", 2*capacity, passed, capacity)
	return passed
}

// await asks jeton of the machine until the answer is yes.
func (m *machine) await(args ...string) {
	m.Helper()
	until(m.T, func() (string, bool) {
		said, code := m.try(append([]string{"jeton"}, args...)...)
		return fmt.Sprintf("%q: exit code %d: %s", args, code, said), code == 0
	})
}

// decidesAll waits until the machine's node says that every key can be decided, by the command that docs/install.md gives.
func (m *machine) decidesAll() {
	m.Helper()
	until(m.T, func() (string, bool) {
		said, code := m.try("env", "JETON_SERVER="+m.address+":7700", "JETON_CLUSTER_KEY_FILE="+keyFile, "jeton", "cluster", "status", "--strict")
		return said, code == 0
	})
}

// isHealthy has jeton doctor look at the machine while its node runs: nothing is critical.
func (m *machine) isHealthy() {
	m.Helper()
	said, code := m.try("jeton", "doctor", "--config", "/etc/jeton/jeton.yaml")
	if code > 1 || strings.Contains(said, "critical: ") || !strings.Contains(said, "as it should be while the node runs") {
		m.Errorf("jeton doctor: exit code %d: %s", code, said)
	}
}

// awaitHTTP gets a page until it is there.
func awaitHTTP(t *testing.T, url string) {
	t.Helper()
	until(t, func() (string, bool) {
		status, err := get(t, url)
		return fmt.Sprint(url, ": ", status, ", ", err), status == http.StatusOK
	})
}

// until tries something until it holds, which it must within some minutes.
func until(t *testing.T, try func() (said string, holds bool)) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		said, holds := try()
		if holds {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within three minutes: %s", said)
		case <-again.C:
		}
	}
}

func get(t *testing.T, url string) (status int, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	r.Header.Set("X-Forwarded-Method", http.MethodGet) // a gateway that is asked by a proxy wants to know what for
	r.Header.Set("X-Forwarded-Uri", "/")
	r.Header.Set("X-Forwarded-For", "203.0.113.9")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	return a.StatusCode, a.Body.Close()
}

// mustAsk asks the machine's gateway whether a request may pass.
func (m *machine) mustAsk(want int) {
	m.Helper()
	m.mustAskAt("127.0.0.1", want)
}

// mustAskAt asks a gateway at an address whether a request may pass, again where a busy machine has used up the time of the decision.
func (m *machine) mustAskAt(address string, want int) {
	m.Helper()
	until(m.T, func() (string, bool) {
		got, err := get(m.T, auth(address))
		if got != want && got != http.StatusServiceUnavailable {
			m.Fatalf("the gateway answers %d, want %d: %v", got, want, err)
		}
		return fmt.Sprintf("the gateway answers %d, want %d: %v", got, want, err), got == want
	})
}

// auth is where a gateway at an address is asked by proxies.
func auth(address string) string { return "http://" + address + ":7782/auth" }

// check makes a check at the machine's node.
func (m *machine) check(want string, wantCode int) {
	m.Helper()
	said, code := m.try("jeton", "check", "demo", "user:1", "--server", m.address+":7700")
	if code != wantCode || !strings.Contains(said, want) {
		m.Errorf("check: exit code %d, %q; want %d, %q", code, said, wantCode, want)
	}
}

// upgrades installs the new package: what runs goes on, with the program that it had, and the administrator's files stay.
func (m *machine) upgrades(node *daemon) {
	m.Helper()
	config, pids, was := m.read("/etc/jeton/jeton.yaml"), m.running(), m.must("jeton", "version")
	said := m.must("dpkg", "-i", m.bring(m.packageOf("now")))
	for _, want := range []string{"upgraded from 0.", "restart one node after another"} {
		if !strings.Contains(said, want) {
			m.Errorf("the upgrade does not say %q:\n%s", want, said)
		}
	}
	if now := m.running(); !slices.Equal(now, pids) || len(now) == 0 || node.cmd.Process.Signal(syscall.Signal(0)) != nil {
		m.Errorf("before the upgrade %v ran, after it %v", pids, now)
	}
	if m.read("/etc/jeton/jeton.yaml") != config {
		m.Error("the upgrade has changed the administrator's configuration")
	}
	var v struct {
		Version, Commit string
		DiskFormat      int `json:"disk_format"`
	}
	text := m.must("jeton", "version", "--output", "json")
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.Version == "" || strings.Contains(was, v.Version) || len(v.Commit) != 40 || v.DiskFormat == 0 {
		m.Errorf("%v: %s, and before the upgrade %s", err, text, was)
	}
}

// removes removes the package, and then its configuration: the data stays, which is said both times.
func (m *machine) removes() {
	m.Helper()
	files := m.must("find", "/var/lib/jeton", "-type", "f")
	if !strings.Contains(files, "/var/lib/jeton/FORMAT\n") {
		m.Fatalf("the node's data: %s", files)
	}
	stays := func(said string, config bool) {
		m.Helper()
		if !strings.Contains(said, "data of the node stays in /var/lib/jeton") {
			m.Errorf("it does not say that the data stays:\n%s", said)
		}
		if now := m.must("find", "/var/lib/jeton", "-type", "f"); now != files {
			m.Errorf("data:\n%s\nbefore:\n%s", now, files)
		}
		if _, is := m.has("/etc/jeton/jeton.yaml"); is != config {
			m.Errorf("the configuration is there: %v, want %v", is, config)
		}
		if _, is := m.has("/usr/bin/jeton"); is {
			m.Error("the program is there still")
		}
	}
	stays(m.must("dpkg", "--remove", "jeton"), true)
	stays(m.must("dpkg", "--purge", "jeton"), false)
	if _, is := m.has(keyFile); !is {
		m.Errorf("%s is gone, which the package did not bring", keyFile)
	}
}
