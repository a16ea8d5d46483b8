package clustertests

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A response is what a node answered over HTTP.
type response struct {
	status int
	header http.Header
	body   string
}

// request sends one HTTP request to a node.
func request(t *testing.T, method, url, body string) response {
	t.Helper()
	return operate(t, "", method, url, body)
}

// operate is request with the token in a node's data directory.
func operate(t *testing.T, data, method, url, body string) response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if data != "" {
		token, err := os.ReadFile(filepath.Join(data, "token"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{res.StatusCode, res.Header, string(text)}
}

// check asks a node over HTTP for one token.
func check(t *testing.T, n *process.Node, limitName, key string) (status int, d limit.Decision) {
	t.Helper()
	return checkOnce(t, n, limitName, key, rand.Text())
}

// checkOnce is check with an id: the owner that has decided it answers the same once more, and charges nothing.
func checkOnce(t *testing.T, n *process.Node, limitName, key, id string) (status int, d limit.Decision) {
	t.Helper()
	res := request(t, http.MethodPost, "http://"+n.HTTP+"/v1/check", fmt.Sprintf(`{"key":%q,"limits":[%q],"request_id":%q}`, key, limitName, id))
	if err := json.Unmarshal([]byte(res.body), &d); err != nil {
		t.Fatalf("%s: %v", res.body, err)
	}
	return res.status, d
}

// mustDecide is check, the same again while nothing is decided: a machine that stalls uses up the time of a check, which may have been charged
// all the same.
func mustDecide(t *testing.T, n *process.Node, limitName, key string) (status int, d limit.Decision) {
	t.Helper()
	id := rand.Text()
	for end := time.Now().Add(process.Patience); ; {
		if status, d = checkOnce(t, n, limitName, key, id); status != http.StatusServiceUnavailable && status != http.StatusGatewayTimeout {
			return status, d
		}
		if time.Now().After(end) {
			t.Fatalf("after minutes %s of %s is still not decided: %d", limitName, key, status)
		}
	}
}

// triedAgain is how many times a node has asked a second one about a check, which may be charged twice then: beside one that was silent, as on a
// machine that stalls, or after one that failed.
func triedAgain(t *testing.T, n *process.Node) (times int) {
	t.Helper()
	return askedAgain(t, request(t, http.MethodGet, "http://"+n.HTTP+"/metrics", "").body)
}

// askedAgain is the same by metrics, of a node or of a client.
func askedAgain(t *testing.T, metrics string) (times int) {
	t.Helper()
	found := regexp.MustCompile(`(?m)^jeton_client_(?:hedges|retries)_total (\d+)$`).FindAllStringSubmatch(metrics, -1)
	if len(found) != 2 {
		t.Fatalf("hedges and retries are not counted:\n%s", metrics)
	}
	for _, counted := range found {
		n, err := strconv.Atoi(counted[1])
		if err != nil {
			t.Fatal(err)
		}
		times += n
	}
	return times
}

// The first five minutes of a new user, killed in the middle.
func TestFirstFiveMinutes(t *testing.T) {
	t.Parallel()
	binary, data := process.Build(t), t.TempDir()
	port := process.FreePorts(t, 30)
	n := process.StartDev(t, binary, port, "--data", data)
	began := time.Now()
	for left := int64(9); left >= 0; left-- {
		status, d := mustDecide(t, n, "demo", "user:42")
		// Fewer are left where a check was charged twice, and then the last ones are denied.
		if r := d.Limits[0].Remaining; (status != http.StatusOK || r != left) && (r > left || triedAgain(t, n) == 0) {
			t.Fatalf("status %d, remaining %d; want 200, %d", status, r, left)
		}
	}
	for _, life := range []string{"at first", "after kill -9", "after a clean stop"} {
		res := request(t, http.MethodPost, "http://"+n.HTTP+"/v1/check", `{"key":"user:42","limits":["demo"]}`)
		wait, err := strconv.Atoi(res.header.Get("Retry-After"))
		if least := 359 - int(time.Since(began).Seconds()); err != nil || res.status != http.StatusTooManyRequests || wait < least || wait > 360 {
			t.Errorf("%s: the eleventh check: %d, Retry-After %d, want 429 and %d to 360: %s", life, res.status, wait, least, res.body)
		}
		out, errs, code := process.Run(t, binary, "check", "demo", "user:42", "--server", n.GRPC)
		if code != 1 || !strings.HasPrefix(out, "denied") {
			t.Errorf("%s: jeton check: exit code %d, %q, %q", life, code, out, errs)
		}
		page := request(t, http.MethodGet, "http://"+n.HTTP+"/debug/buckets/demo/user:42", "").body
		if !strings.Contains(page, "user:42") || !strings.Contains(page, "0 of 10") {
			t.Errorf("%s: the bucket's page does not say that it is empty:\n%s", life, page)
		}
		if life == "after kill -9" {
			if code := n.Stop(); code != 0 {
				t.Fatalf("SIGTERM: exit code %d: %s", code, n.Log())
			}
		} else {
			n.KillAll()
		}
		n = process.StartDev(t, binary, port, "--data", data)
	}
}

func TestLimitsAreReloadedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	binary := process.Build(t)
	file := filepath.Join(t.TempDir(), "limits.yaml")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("limits: {a: {capacity: 5, refill: 1/h}}")
	data := t.TempDir()
	n := process.Start(t, binary, "--data", data, "--limits", file)
	check(t, n, "a", "k")
	check(t, n, "a", "k")

	write("limits: {a: {capacity: 7, refill: 1/h}, b: {capacity: 0, refill: 1/h}}")
	n.Signal(syscall.SIGHUP)
	n.WaitForLog(`limits not reloaded.*limits\.b\.capacity`)
	if _, d := check(t, n, "a", "k"); d.Limits[0].Limit != 5 || d.Limits[0].Remaining != 2 {
		t.Errorf("after a bad file: %+v, want the old capacity 5 and 2 left", d.Limits[0])
	}
	write("limits: {a: {capacity: 7, refill: 1/h}, b: {capacity: 1, refill: 1/h}}")
	n.Signal(syscall.SIGHUP)
	n.WaitForLog(`limits in force.*limits=2`)
	if _, d := check(t, n, "a", "k"); d.Limits[0].Limit != 7 || d.Limits[0].Remaining != 3 {
		t.Errorf("after a good file: %+v, want capacity 7 and 3 left: four are spent", d.Limits[0])
	}
	if out, _, code := process.Run(t, binary, "limits", "get", "--server", n.GRPC); code != 0 || !strings.Contains(out, "capacity: 7") {
		t.Errorf("jeton limits get: exit code %d:\n%s", code, out)
	}
	for _, saving := range []string{"", "limits:\n", "limits: {}", "limits: {b: {capacity: 1, refill: 1/h}}"} { // as an editor saves it
		write(saving)
		n.Signal(syscall.SIGHUP)
		n.WaitForLog(`limits not reloaded.*(limits: is empty|leaves out limits that are in force, a)`)
	}
	if out, _, code := process.Run(t, binary, "limits", "get", "--server", n.GRPC); code != 0 || !strings.Contains(out, "capacity: 7") || !strings.Contains(out, "b:") {
		t.Errorf("after files that were being saved: exit code %d:\n%s", code, out)
	}
}

// A SIGHUP that comes while a node starts, as of a reload right after it, is kept until the node has its cluster, and ends nothing.
func TestHangupWhileANodeStarts(t *testing.T) {
	t.Parallel()
	const anywhere = "127.0.0.1:0"
	options := filepath.Join(t.TempDir(), "options") // a pipe, at which the node waits before it does anything else
	if err := syscall.Mkfifo(options, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{
		"serve", "--limits", writeLimits(t, "limits: {a: {capacity: 5, refill: 1/h}}"),
		"--listen-grpc", anywhere, "--listen-http", anywhere, "--listen-raft", anywhere, "--listen-gossip", anywhere, "--data", t.TempDir(),
	}
	for name, starting := range map[string]func() *process.Node{
		"it reads its options": func() *process.Node {
			n := process.Launch(t, process.Build(t), append(args, "--config", options)...)
			pipe, err := os.OpenFile(options, os.O_WRONLY, 0) // returns when the node opens it
			if err != nil {
				t.Fatal(err)
			}
			n.Signal(syscall.SIGHUP)
			if err := pipe.Close(); err != nil {
				t.Fatal(err)
			}
			return n
		},
		"it founds a cluster": func() *process.Node {
			n := process.Launch(t, process.Build(t), append(args[:len(args)-1:len(args)-1], t.TempDir())...)
			n.WaitForLog("this node founds a cluster")
			n.Signal(syscall.SIGHUP)
			return n
		},
	} {
		n := starting()
		n.WaitForLog("msg=serving")
		n.WaitForLog("the limits file equals the limits in force")
		if code := n.Stop(); code != 0 {
			t.Errorf("SIGHUP while %s: exit code %d: %s", name, code, n.Log())
		}
	}
}

// A member that waits for others has no limits to reload yet: it keeps a SIGHUP until it has its cluster, and stops at once meanwhile.
func TestHangupOfAMemberThatWaits(t *testing.T) {
	t.Parallel()
	c := process.NewCluster(t, process.Build(t), 3, clusterLimits)
	file := writeLimits(t, clusterLimits)
	m := c.Members[0]
	m.Args("--limits", file)
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, stops := range []bool{true, false} {
		m.Launch()
		m.WaitForLog("msg=serving")
		write("limits:") // which a reload would complain of
		m.Signal(syscall.SIGHUP)
		if stops {
			if code := m.Stop(); code != 0 || strings.Contains(m.Log(), "limits not reloaded") {
				t.Fatalf("SIGTERM after SIGHUP: exit code %d: %s", code, m.Log())
			}
		} else {
			c.Members[1].Launch()
			c.Members[1].WaitForLog("msg=serving")
		}
		write(clusterLimits)
	}
	c.Members[2].Launch()
	m.WaitForLog("limits not reloaded|the limits file equals the limits in force")
	if strings.Contains(m.Log(), "limits not reloaded") {
		t.Errorf("the limits were reloaded before there was a cluster:\n%s", m.Log())
	}
}

// Limits are removed only where the request says so. The error names those that are still in use.
func TestLimitsAreRemovedByName(t *testing.T) {
	t.Parallel()
	binary, data := process.Build(t), t.TempDir()
	n := process.Start(t, binary, "--data", data, "--limits", writeLimits(t, "limits: {a: {capacity: 5, refill: 1/h}, b: {capacity: 1, refill: 1/h}}"))
	check(t, n, "a", "k")
	url := "http://" + n.HTTP + "/v1/limits"
	if res := request(t, http.MethodPut, url, "limits: {c: {capacity: 1, refill: 1/h}}"); res.status != http.StatusUnauthorized || !strings.Contains(res.body, filepath.Join(data, "token")) {
		t.Errorf("PUT /v1/limits without the token: %d %s", res.status, res.body)
	}
	for body, says := range map[string]string{
		"{}":         "400 limits: is empty",
		"":           "400 limits: is empty",
		"limits: {}": "409 a (in use: last check",
		"limits: {b: {capacity: 1, refill: 1/h}}": "409 a (in use: last check",
	} {
		status, words, _ := strings.Cut(says, " ")
		if res := operate(t, data, http.MethodPut, url, body); strconv.Itoa(res.status) != status || !strings.Contains(res.body, words) {
			t.Errorf("PUT of %q: %d %s, want %s", body, res.status, res.body, says)
		}
		if body == "" {
			continue
		}
		out, errs, code := process.Run(t, binary, "limits", "apply", "--server", n.GRPC, "-f", writeLimits(t, body))
		if code != 2 || !strings.Contains(errs, words) {
			t.Errorf("jeton limits apply of %q: exit code %d: %s%s", body, code, out, errs)
		}
	}
	if out, _, _ := process.Run(t, binary, "limits", "get", "--server", n.GRPC); !strings.Contains(out, "a:") || !strings.Contains(out, "b:") {
		t.Errorf("after all that was refused:\n%s", out)
	}
	if res := operate(t, data, http.MethodPut, url+"?remove=yes", "limits: {}"); res.status != http.StatusBadRequest || !strings.Contains(res.body, "remove=true") {
		t.Errorf("PUT with a wrong query: %d %s", res.status, res.body)
	}
	if res := operate(t, data, http.MethodPut, url+"?remove=true", "limits: {a: {capacity: 5, refill: 1/h}}"); res.status != http.StatusOK || !strings.Contains(res.body, `"removed":["b"]`) {
		t.Errorf("PUT that removes b: %d %s", res.status, res.body)
	}
	out, errs, code := process.Run(t, binary, "limits", "apply", "--server", n.GRPC, "--remove", "-f", writeLimits(t, "limits: {c: {capacity: 1, refill: 1/h}}"))
	if code != 0 || !strings.Contains(out, "- a (in use") || !strings.Contains(out, "+ c\n    algorithm:") {
		t.Errorf("jeton limits apply --remove: exit code %d: %s%s", code, out, errs)
	}
	if out, _, _ := process.Run(t, binary, "limits", "get", "--server", n.GRPC); !strings.Contains(out, "c:") || strings.Contains(out, "a:") {
		t.Errorf("jeton limits get after that:\n%s", out)
	}
}

// In memory mode a clean stop is exact, and a kill is strict: the replica cannot know what it had admitted.
func TestMemoryMode(t *testing.T) {
	t.Parallel()
	binary, dir := process.Build(t), t.TempDir()
	file := filepath.Join(dir, "limits.yaml")
	if err := os.WriteFile(file, []byte("limits: {slow: {capacity: 10, refill: 10/10h}, fast: {capacity: 1, refill: 100/s}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--data", filepath.Join(dir, "data"), "--limits", file, "--durability", "memory"}
	n := process.Start(t, binary, args...)
	check(t, n, "slow", "k")
	if code := n.Stop(); code != 0 {
		t.Fatalf("SIGTERM: exit code %d: %s", code, n.Log())
	}
	n = process.Start(t, binary, args...)
	if status, d := check(t, n, "slow", "k"); status != http.StatusOK || d.Limits[0].Remaining != 8 {
		t.Errorf("after a clean stop: %d, %+v, want exactly 8 left", status, d.Limits[0])
	}
	n.Kill()
	n = process.Start(t, binary, args...)
	for _, key := range []string{"k", "never seen"} {
		if status, d := check(t, n, "slow", key); status != http.StatusTooManyRequests || d.Limits[0].Remaining != 0 {
			t.Errorf("after a kill: %s: %d, %+v, want an empty bucket", key, status, d.Limits[0])
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	for status := 0; status != http.StatusOK; status, _ = check(t, n, "fast", "k") {
		if ctx.Err() != nil {
			t.Fatal("a bucket that fills in 10 ms does not serve minutes after a kill")
		}
	}
}

// writeLimits makes a limits file.
func writeLimits(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A node that gets the signal to stop is not ready at once, and answers what is in flight.
func TestCleanStopUnderLoad(t *testing.T) {
	t.Parallel()
	n := process.Start(t, process.Build(t), "--data", t.TempDir(), "--limits", writeLimits(t, clusterLimits))
	if res := request(t, http.MethodGet, "http://"+n.HTTP+"/readyz", ""); res.status != http.StatusOK {
		t.Fatalf("/readyz of a serving node: %d %s", res.status, res.body)
	}
	c, err := client.New(client.Config{Server: n.GRPC})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // its server is gone
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	var decided, cutOff atomic.Int64
	warm := make(chan struct{})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, err := c.Check(ctx, limit.Request{Key: fmt.Sprint("k", i), Limits: []limit.Ref{limit.Named("api")}, Cost: 1})
				if err != nil {
					if strings.Contains(err.Error(), "cut off") {
						cutOff.Add(1)
					}
					return // the node takes nothing any more
				}
				if decided.Add(1) == 1000 {
					close(warm)
				}
			}
		})
	}
	<-warm
	code := n.Stop()
	cancel()
	wg.Wait()
	if code != 0 || cutOff.Load() != 0 {
		t.Errorf("exit code %d, %d checks cut off; the node said:\n%s", code, cutOff.Load(), n.Log())
	}
}

// A disk that takes no more bytes stops the node with a message; what was answered still holds.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	binary, dir := process.Build(t), t.TempDir()
	limits := filepath.Join(dir, "limits.yaml")
	if err := os.WriteFile(limits, []byte("limits: {slow: {capacity: 100, refill: 1/h}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--data", filepath.Join(dir, "data"), "--limits", limits}
	// The shell's limit on the size of a file, in blocks of 512 bytes, stands for the disk's on all of them. It leaves room
	// for an empty data directory, and half a megabyte.
	n := process.StartShell(t, `ulimit -f 17408; exec "$0" "$@"`, binary, args...)
	c, err := client.New(client.Config{Server: n.GRPC})
	if err != nil {
		t.Fatal(err)
	}
	admitted := map[string]int{}
	// Many at a time: a file of the journal is to be full before a new one is begun because time has passed.
	for full := false; !full; {
		batch := make([]limit.Request, 100)
		for i := range batch {
			key := fmt.Sprint(strings.Repeat("k", 400), len(admitted)+i)
			batch[i] = limit.Request{Key: key, Limits: []limit.Ref{limit.Named("slow")}, Cost: 1 + int64(i%3)}
		}
		for i, r := range c.CheckBatch(t.Context(), batch) {
			full = full || r.Err != nil
			if r.Err == nil && r.Decision.Allowed {
				admitted[batch[i].Key] += int(batch[i].Cost)
			}
		}
	}
	c.Close() //nolint:errcheck // its server is gone
	if code := n.ExitCode(); code != 2 || !strings.Contains(n.Log(), "make room") {
		t.Fatalf("exit code %d; the node said:\n%s", code, n.Log())
	}
	after := process.Start(t, binary, args[1:]...)
	if c, err = client.New(client.Config{Server: after.GRPC}); err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // nothing is asked any more
	for keys := range slices.Chunk(slices.Collect(maps.Keys(admitted)), 100) {
		batch := make([]limit.Request, len(keys))
		for i, key := range keys {
			batch[i] = limit.Request{Key: key, Limits: []limit.Ref{limit.Named("slow")}, Cost: 1}
		}
		for i, r := range c.CheckBatch(t.Context(), batch) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if got, want := 100-1-r.Decision.Limits[0].Remaining, admitted[keys[i]]; got < int64(want) {
				t.Errorf("%d tokens were admitted before the disk was full, %d are spent after it", want, got)
			}
		}
	}
}

func TestAddressInUse(t *testing.T) {
	t.Parallel()
	binary, data := process.Build(t), filepath.Join(t.TempDir(), "data")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // nothing was written
	_, errs, code := process.Run(t, binary, "serve", "--data", data, "--listen-grpc", l.Addr().String())
	if code != 2 || !strings.Contains(errs, "listen-grpc") || !strings.Contains(errs, "in use") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a node that could not listen has made its data directory")
	}
}

// A node whose disk was lost comes back at its old addresses and votes again, so that the cluster bears as much as before.
func TestEmptyDiskVotesAgain(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, clusterLimits)
	d := &drill{T: t, cluster: c}
	m := c.Members[1]
	m.Kill()
	m.Wipe()
	m.Launch()
	m.Ready()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	for {
		s := d.ring(c.Members[0])
		voters := 0
		for _, n := range s.Nodes {
			if n.Role == "voter" || n.Role == "leader" {
				voters++
			}
		}
		if len(s.Nodes) == 3 && voters == 3 {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("after minutes: %+v", s)
		}
	}
}

// A caller that applies the limits which are in force already gets that answer at once.
func TestLimitsThatAreInForceAlready(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, clusterLimits)
	file := writeLimits(t, "limits:\n  other: {capacity: 3, refill: 1/s}\n")
	for i, m := range append(c.Members, c.Members...) {
		_, errs, code := c.Run(m, "limits", "apply", "--remove", "-f", file)
		if code != 0 || !strings.Contains(errs, "version 2 is in force") { // the later ones: and says the same
			t.Fatalf("time %d: exit code %d: %s", i+1, code, errs)
		}
	}
}

// What a second dev beside the first one is told, and what a dev does whose nodes are stopped or removed one by one.
func TestDevBesideAnother(t *testing.T) {
	t.Parallel()
	binary, data := process.Build(t), t.TempDir()
	port := process.FreePorts(t, 40)
	dev := process.StartDev(t, binary, port, "--data", data, "--nodes", "4")
	for args, says := range map[string]string{
		fmt.Sprintf("--port %d", port):                    fmt.Sprintf("--port: 127.0.0.1:%d, for node-1, is in use", port),
		fmt.Sprintf("--port 0 --nodes 1 --data %s", data): "another jeton dev runs on " + data,
	} {
		_, errs, code := process.Run(t, binary, append([]string{"dev"}, strings.Fields(args)...)...)
		if code != 2 || !strings.Contains(errs, says) {
			t.Errorf("jeton dev %s: exit code %d, want 2 and %q: %s", args, code, says, errs)
		}
	}
	for _, verb := range []string{"drain", "remove"} {
		if _, errs, code := process.Run(t, binary, "cluster", verb, "node-4", "--timeout", "3m", "--server", dev.GRPC); code != 0 {
			t.Fatalf("%s: exit code %d: %s", verb, code, errs)
		}
	}
	dev.WaitForLog(`node-4 has ended: .* the others go on`)
	pid, err := strconv.Atoi(regexp.MustCompile(`node-2 .* process (\d+)`).FindStringSubmatch(dev.Log())[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	dev.WaitForLog(`node-2 was stopped; it is started again`)
	dev.WaitForLog(`node-2 serves again, process \d+`)
	if code := dev.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(dev.Log(), "stopped; the data is kept in "+data) {
		t.Errorf("it says:\n%s", dev.Log())
	}
}

// A node that is started as always, without --join, on an old copy of its disk is found out and joins its cluster as a new
// one. It must not found a cluster of its own beside it.
func TestOldCopyWithoutJoin(t *testing.T) {
	t.Parallel()
	c := process.StartCluster(t, process.Build(t), 3, clusterLimits)
	d := &drill{T: t, cluster: c}
	old := c.Members[2]
	if code := old.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	twin := c.Plan()
	if err := os.CopyFS(twin.Data, os.DirFS(old.Data)); err != nil {
		t.Fatal(err)
	}
	old.Launch()
	old.Ready()
	twin.Launch()
	twin.WaitForLog("old copy")
	twin.Ready()
	d.settled(c.Members[0], 4)
	if here, there := d.ring(c.Members[0]).Cluster, d.ring(twin).Cluster; here != there {
		t.Errorf("the node is in cluster %s, and the others in %s:\n%s", there, here, twin.Log())
	}
	if strings.Contains(twin.Log(), "founds a cluster") {
		t.Errorf("the node said:\n%s", twin.Log())
	}
}
