package clustertests

import (
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// A devModel is the language model behind the gateway of a "jeton dev", as its welcome tells of it.
type devModel struct {
	*testing.T

	binary, header, url, body, customer, server string

	gateway devGateway
}

func modelOf(t *testing.T, binary string, dev *process.Node) *devModel {
	t.Helper()
	line := regexp.MustCompile(`curl -N -H '(.+)' (http://\S+) -d '(.*)'\n.* holds tokens (\S+) --server (\S+)\n`).FindStringSubmatch(dev.Log())
	if line == nil {
		t.Fatalf("the welcome shows no request to the model:\n%s", dev.Log())
	}
	return &devModel{T: t, binary: binary, header: line[1], url: line[2], body: line[3], customer: line[4], server: line[5], gateway: gatewayOf(t, dev)}
}

// An exchange is a request to the model that has passed.
type exchange struct {
	id   string
	body io.Reader // of the answer
}

// ask sends a request, which must pass.
func (m *devModel) ask(url, body string) exchange {
	m.Helper()
	req, err := http.NewRequestWithContext(m.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	name, value, _ := strings.Cut(m.header, ": ")
	req.Header.Set(name, value)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		m.Fatalf("%s: %s", url, res.Status)
	}
	return exchange{res.Header.Get("X-Jeton-Exchange"), res.Body}
}

// holds are what jeton holds says of a limit.
func (m *devModel) holds(limit string) string {
	m.Helper()
	out, errs, code := process.Run(m.T, m.binary, "holds", limit, m.customer, "--server", m.server)
	if code != 0 {
		m.Fatalf("jeton holds: %s%s", out, errs)
	}
	return out
}

// explain is what jeton explain says of an exchange.
func (m *devModel) explain(x exchange) string {
	m.Helper()
	out, errs, code := process.Run(m.T, m.binary, "explain", x.id, "--gateway", strings.TrimPrefix(m.gateway.admin, "http://"))
	if code != 0 {
		m.Fatalf("jeton explain: %s%s", out, errs)
	}
	return out
}

// What the welcome shows of the language model: its tokens are held while it streams, and what it used is charged in the end. Then the
// gateway is killed in the middle of a stream: what is held stays held until its time is over.
func TestDevHasAModel(t *testing.T) {
	t.Parallel()
	binary := process.Build(t)
	dev := process.StartDev(t, binary, process.FreePorts(t, 10), "--data", t.TempDir(), "--nodes", "1")
	m := modelOf(t, binary, dev)
	stream := m.ask(m.url, m.body)
	for _, name := range []string{"tokens", "budget"} {
		if out := m.holds(name); !regexp.MustCompile(`(?m)^[0-9a-f]{16} +open +\d+ +0 `).MatchString(out) {
			t.Errorf("while the model answers, the holds of %s are\n%s", name, out)
		}
	}
	if text, err := io.ReadAll(stream.body); err != nil || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Fatalf("the stream: %v\n%s", err, text)
	}
	m.wasSettled(stream)

	other := m.ask(m.gateway.url+"/v1/messages", `{"model":"sample","max_tokens":2,"messages":[{"role":"user","content":"Hello"}]}`)
	if text, err := io.ReadAll(other.body); err != nil || !strings.Contains(string(text), `"output_tokens":2`) {
		t.Errorf("the other API: %v\n%s", err, text)
	}
	eventually(t, "all is settled", func() bool { return strings.Contains(m.holds("budget"), "budget: none is open") })

	killed := m.ask(m.url, m.body)
	pid, err := strconv.Atoi(m.gateway.pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(killed.body); err == nil {
		t.Error("the stream of a killed gateway came to its end")
	}
	if out := m.holds("budget"); !strings.Contains(out, "held by 1 open hold, the first expires in") {
		t.Errorf("after the end of the gateway, the holds are\n%s", out)
	}
	if code := dev.Stop(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, dev.Log())
	}
}

// wasSettled returns when the bucket was charged what jeton explain says was used.
func (m *devModel) wasSettled(x exchange) {
	m.Helper()
	eventually(m.T, "the exchange has ended", func() bool { return strings.Contains(m.explain(x), "charged by  the usage in the answer") })
	said := regexp.MustCompile(`used +(\d+) tokens of input .*and (\d+) tokens of output`).FindStringSubmatch(m.explain(x))
	if said == nil {
		m.Fatalf("jeton explain says\n%s", m.explain(x))
	}
	input, err := strconv.Atoi(said[1])
	if err != nil {
		m.Fatal(err)
	}
	output, err := strconv.Atoi(said[2])
	if err != nil {
		m.Fatal(err)
	}
	settled := regexp.MustCompile(`(?m)^[0-9a-f]{16} +settled +\d+ +` + strconv.Itoa(input+output) + ` `)
	eventually(m.T, "what was used is charged", func() bool { return settled.MatchString(m.holds("tokens")) })
}
