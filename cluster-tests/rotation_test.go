package clustertests

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/ring/key"
	"github.com/jeton-dev/jeton/rpc/client"
)

// The two cluster keys of a rotation.
const (
	oldKey = "the secret that this cluster was founded with"
	newKey = "the secret that takes its place, step by step"
)

// A rotation is a cluster under load whose key is replaced.
type rotation struct {
	*drill

	files    []string // the key files of the nodes
	operator string   // the key file of the operator, and of the program that asks
	program  *key.Key // what that program has read
}

// keyText is what a file holds with these keys.
func keyText(keys ...string) string { return strings.Join(keys, "\n---\n") + "\n" }

// replaceKey replaces a key file at once, as an operator does.
func replaceKey(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// A bothWays checker asks over connections without the key, and over those with it, in turn.
type bothWays struct {
	plain, keyed limit.Checker
	turn         *atomic.Int64
}

// Check implements limit.Checker.
func (b bothWays) Check(ctx context.Context, r limit.Request) (limit.Decision, error) {
	if b.turn.Add(1)%2 == 0 {
		return b.plain.Check(ctx, r)
	}
	return b.keyed.Check(ctx, r)
}

// startRotation starts three nodes with the old key, and a calm load on them.
func startRotation(t *testing.T) *rotation {
	t.Helper()
	dir := t.TempDir()
	r := &rotation{operator: filepath.Join(dir, "operator")}
	replaceKey(t, r.operator, keyText(oldKey, newKey)) // who asks accepts both from the beginning, and shows the old one
	c := process.NewCluster(t, process.Build(t), 3, clusterLimits)
	for i, m := range c.Members {
		r.files = append(r.files, filepath.Join(dir, fmt.Sprint("key-", i)))
		replaceKey(t, r.files[i], keyText(oldKey))
		m.Args("--cluster-key-file", r.files[i])
		m.Launch()
	}
	for _, m := range c.Members {
		m.Ready()
	}
	k, err := key.Read(r.operator, false)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(config *tls.Config) limit.Checker {
		asks, err := client.New(client.Config{Servers: c.Servers(), TLS: config})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { asks.Close() }) //nolint:errcheck // nothing is asked any more
		return asks
	}
	r.drill = &drill{
		T: t, cluster: c, perSecond: calmPerSecond, keys: calmKeys,
		checker: bothWays{ask(nil), ask(k.TLS()), new(atomic.Int64)},
	}
	r.program = k
	r.begin()
	return r
}

// give gives a node other keys: the first one finds out by itself, the second one is told by a signal, and the third one is started again.
func (r *rotation) give(i int, keys ...string) {
	r.Helper()
	m := r.cluster.Members[i]
	reloads := func() int { return strings.Count(m.Log(), "reloaded files") }
	before := reloads()
	replaceKey(r.T, r.files[i], keyText(keys...))
	switch i {
	case 1:
		m.Signal(syscall.SIGHUP)
		fallthrough
	case 0:
		r.until(m.Name+" has read its key file", func() bool { return reloads() > before })
	default:
		m.Restart()
	}
	r.load.Answered(calmPerSecond) // with the nodes in two states
}

// step gives all nodes other keys, one after the other, and waits until each node has told the others.
func (r *rotation) step(keys ...string) {
	r.Helper()
	var names []string
	for _, text := range keys {
		names = append(names, nameOf(r.T, text))
	}
	for i := range r.cluster.Members {
		r.give(i, keys...)
	}
	for _, m := range r.cluster.Members {
		r.until(fmt.Sprintf("%s knows that all nodes have the keys %v", m.Name, names), func() bool {
			return fmt.Sprint(r.keysAt(m)) == fmt.Sprint([][]string{names, names, names})
		})
	}
}

// nameOf is what a key is called.
func nameOf(t *testing.T, text string) string {
	t.Helper()
	k, err := key.New([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k.Uses()[0].Name
}

// keysAt are the keys of all nodes, as one of them tells.
func (r *rotation) keysAt(m *process.Member) (all [][]string) {
	r.Helper()
	for _, n := range r.told(m).Nodes {
		var names []string
		for _, k := range n.Keys {
			names = append(names, k.Name)
		}
		all = append(all, names)
	}
	return all
}

// keysTold is what the status tells of keys.
type keysTold struct {
	Nodes []struct {
		Keys []struct {
			Name        string   `json:"name"`
			Connections int      `json:"connections"`
			UsedSeconds *float64 `json:"used_seconds"`
		} `json:"keys"`
	} `json:"nodes"`
}

func (r *rotation) told(m *process.Member) (s keysTold) {
	r.Helper()
	r.cluster.Status(m, &s)
	return s
}

// mayOperate says whether a key file makes an operator at a node, and what the command says.
func (r *rotation) mayOperate(m *process.Member, file string) (may bool, says string) {
	r.Helper()
	_, says, code := r.cluster.Run(m, "cluster", "drain", m.Name, "--undo", "--cluster-key-file", file)
	return code == 0, says
}

// dials says whether raft of a node takes a connection of who has that key: whether no refusal comes for so long.
func (r *rotation) dials(m *process.Member, text string, wait time.Duration) error {
	r.Helper()
	k, err := key.New([]byte(text))
	if err != nil {
		r.Fatal(err)
	}
	config := k.TLS()
	config.NextProtos = []string{"jeton-raft/2"}
	config.VerifyConnection = nil // it would take any server
	conn, err := (&tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Minute}, Config: config}).DialContext(r.Context(), "tcp", m.Raft)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it has been answered
	if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1)) // a refusal, or nothing: this end has to speak first
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// The cluster key is replaced in three steps, while checks go on over connections with the key and without: none fails, and no limit is
// exceeded. Whoever has the old key then is a stranger at every port.
func TestKeyIsRotatedUnderLoad(t *testing.T) {
	t.Parallel()
	r := startRotation(t)
	first := r.cluster.Members[0]
	old := filepath.Join(t.TempDir(), "old")
	replaceKey(t, old, keyText(oldKey))

	r.step(oldKey, newKey)
	if may, says := r.mayOperate(first, old); !may {
		t.Errorf("after the first step an operator with the old key alone is refused: %s", says)
	}
	r.step(newKey, oldKey)
	if may, says := r.mayOperate(first, old); may || !strings.Contains(says, "cluster key") {
		t.Errorf("an operator with the old key alone, who cannot know the nodes any more, reads: %v, %s", may, says)
	}
	if may, says := r.mayOperate(first, r.operator); !may {
		t.Errorf("after the second step an operator who accepts both keys is refused: %s", says)
	}
	if err := r.dials(first, oldKey, time.Second); err != nil {
		t.Errorf("raft refuses the old key already: %v", err)
	}
	// Only the program that asks shows the old key now, and the status tells that somebody does.
	if n := r.told(first).Nodes[0].Keys[1]; n.UsedSeconds == nil {
		t.Error("nobody is seen to use the old key, which is in use")
	}

	for _, keys := range [][]string{{newKey, oldKey}, {newKey}} {
		replaceKey(t, r.operator, keyText(keys...))
		if _, err := r.program.Reload(); err != nil {
			t.Fatal(err)
		}
	}
	r.step(newKey)
	if may, says := r.mayOperate(first, r.operator); !may {
		t.Errorf("an operator with the new key is refused: %s", says)
	}
	r.refused(first, old)
	r.end(false)
}

// refused checks that the old key is worth nothing at a node any more.
func (r *rotation) refused(m *process.Member, old string) {
	r.Helper()
	if may, says := r.mayOperate(m, old); may || !strings.Contains(says, "cluster key") {
		r.Errorf("over gRPC the old key still counts: %v, %s", may, says)
	}
	if err := r.dials(m, oldKey, process.Patience); err == nil {
		r.Error("raft takes a connection with the old key")
	}
	k, err := key.New([]byte(oldKey))
	if err != nil {
		r.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPut, "http://"+m.HTTP+"/v1/limits?dry_run=true", strings.NewReader(clusterLimits))
	if err != nil {
		r.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.Token())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		r.Errorf("over HTTP the old key's token still counts: %s", res.Status)
	}
	join := r.cluster.Gossip()
	stranger := r.cluster.Plan()
	stranger.Args("--join", join, "--cluster-key-file", old)
	stranger.Launch()
	stranger.WaitForLog("another cluster key")
	stranger.Kill()
	if n := len(r.ring(m).Nodes); n != 3 {
		r.Errorf("a node with the old key was let in: %d nodes", n)
	}
}

// A file with which a node would cut itself off, or that is wrong, changes nothing, and the log says why.
func TestKeyFilesThatAreNotFollowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	replaceKey(t, file, keyText(oldKey))
	c := process.NewCluster(t, process.Build(t), 1, clusterLimits, "--cluster-key-file", file)
	m := c.Members[0]
	m.Launch()
	m.Ready()
	for text, want := range map[string]string{
		"":                                   "at least 16 bytes, and this one has 0",
		keyText(oldKey, "short"):             "key 2 of 2: a cluster key has at least 16 bytes, and this one has 5",
		keyText(oldKey, newKey, oldKey):      "keys 1 and 3 are the same",
		keyText(newKey):                      "the key that this node shows to others is not in it any more",
		keyText(newKey, oldKey):              "its first key is one that this node does not accept yet",
		keyText(oldKey) + "---\n":            "key 2 of 2: a cluster key has at least 16 bytes, and this one has 0",
		strings.Repeat("x", key.MaxSecret+1): "at most 4096 bytes",
	} {
		replaceKey(t, file, text)
		m.Signal(syscall.SIGHUP)
		m.WaitForLog(regexp.QuoteMeta(want))
		if _, errs, code := c.Run(m, "cluster", "drain", m.Name, "--undo", "--cluster-key-file", file+".old"); code == 0 {
			t.Errorf("a missing file makes an operator: %s", errs)
		}
	}
	replaceKey(t, file, keyText(oldKey))
	m.WaitForLog("files match what is in force again")
	if _, errs, code := c.Run(m, "cluster", "drain", m.Name, "--undo", "--cluster-key-file", file); code != 0 {
		t.Errorf("the key that stayed in force is refused: %s", errs)
	}
}
