package clustertests

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/jeton-dev/jeton/cmd/node"
	"github.com/jeton-dev/jeton/rpc/doors/gubernator"
	"github.com/jeton-dev/jeton/rpc/transport"
	"github.com/jeton-dev/jeton/storage"
)

// A gubernatorItem is an item or its answer, as the JSON of gubernator's messages has it.
type gubernatorItem struct {
	Name      string `json:"name,omitempty"`
	UniqueKey string `json:"uniqueKey,omitempty"`
	Hits      int64  `json:"hits,omitempty"`
	Duration  int64  `json:"duration,omitempty"`
	Algorithm int    `json:"algorithm,omitempty"`
	Behavior  int    `json:"behavior,omitempty"`

	Limit     int64  `json:"limit,string,omitempty"`
	Status    string `json:"status,omitempty"`
	Remaining int64  `json:"remaining,string,omitempty"`
	ResetTime int64  `json:"resetTime,string,omitempty"`
	Error     string `json:"error,omitempty"`
}

// gubernatorNode starts a node with the door of gubernator, over gRPC and over HTTP, and returns the two addresses.
func gubernatorNode(t *testing.T) (grpcAddress, url string) {
	t.Helper()
	n, err := node.Open(node.Config{Data: t.TempDir(), Durability: storage.Memory, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	door, err := gubernator.New(gubernator.Config{Limiter: n, Ready: n.Ready, Peers: func() int { return 3 }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.ForceServerCodecV2(transport.NewCodec()))
	door.Register(server)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	web := httptest.NewServer(door.Handler())
	t.Cleanup(func() {
		web.Close()
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String(), web.URL
}

// TestGubernatorsOwnClient has gubernator's own Go client, built from the module beside this file, ask the door what gubernator's
// functional tests ask, over gRPC and as JSON.
func TestGubernatorsOwnClient(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "gubernator")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "gubernator", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	grpcAddress, url := gubernatorNode(t)
	for _, address := range []string{grpcAddress, url} {
		t.Run(address, func(t *testing.T) {
			wants, lines := gubernatorStory(address)
			command := exec.CommandContext(t.Context(), binary, address)
			command.Stdin = strings.NewReader(strings.Join(lines, "\n"))
			out, err := command.CombinedOutput()
			answers := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err != nil || len(answers) != len(lines) {
				t.Fatalf("%v, and %d answers to %d lines:\n%.2000s", err, len(answers), len(lines), out)
			}
			for i, want := range wants {
				if wrong := want(answers[i]); wrong != "" {
					t.Errorf("%.200s\nis answered %.500s\n%s", lines[i], answers[i], wrong)
				}
			}
		})
	}
}

// gubernatorStory is lines for the client, and what says what is wrong with the answer to each.
func gubernatorStory(keys string) (wants []func(answer string) string, lines []string) {
	add := func(line string, want func(string) string) { wants, lines = append(wants, want), append(lines, line) }
	item := gubernatorItem{Name: "requests per second", UniqueKey: "account:" + keys, Limit: 10, Duration: 600_000}
	ask := func(hits int64, algorithm, behavior int, status string, remaining int64) {
		it := item
		it.Hits, it.Algorithm, it.Behavior = hits, algorithm, behavior
		if behavior == 4 {
			it.Duration = 5 // a year, whose end this test does not meet
		}
		add(requestOf(it), func(answer string) string { return judgeItem(answer, status, remaining) })
	}
	for algorithm := range 2 {
		item.Name = fmt.Sprint("algorithm ", algorithm)
		ask(0, algorithm, 0, "", 10)
		ask(1, algorithm, 0, "", 9)
		ask(4, algorithm, 1|2, "", 5)
		ask(6, algorithm, 0, "OVER_LIMIT", 5)
		ask(6, algorithm, 32, "OVER_LIMIT", 0)
		ask(1, algorithm, 0, "OVER_LIMIT", 0)
		ask(1, algorithm, 8, "", 10)
		ask(10, algorithm, 0, "", 0)
		ask(1, algorithm, 0, "OVER_LIMIT", 0)
	}
	item.Name = "calendar"
	ask(10, 0, 4, "", 0)
	ask(1, 0, 4, "OVER_LIMIT", 0)

	contains := func(texts ...string) func(string) string {
		return func(answer string) string {
			for _, text := range texts {
				if !strings.Contains(strings.ReplaceAll(answer, " ", ""), text) {
					return "want " + text
				}
			}
			return ""
		}
	}
	add(requestOf(gubernatorItem{Name: "n", Hits: 1, Limit: 5}, gubernatorItem{UniqueKey: "k"}, gubernatorItem{Name: "n", UniqueKey: "k", Hits: -1}),
		contains("field'unique_key'cannotbeempty", "field'namespace'cannotbeempty", "field'hits'cannotbenegative"))
	add(requestOf(make([]gubernatorItem, 1001)...), contains("error:", "Requests.RateLimitslisttoolarge;maxsizeis'1000'"))
	add("health", contains(`"status":"healthy"`, `"peerCount":3`))
	return wants, lines
}

func requestOf(items ...gubernatorItem) string {
	data, err := json.Marshal(map[string]any{"requests": items})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// judgeItem says what is wrong with the answer to one item, of a limit of 10. The JSON of it has no status that is the first of its
// names.
func judgeItem(answer, status string, remaining int64) string {
	var m struct{ Responses []gubernatorItem }
	if err := json.Unmarshal([]byte(answer), &m); err != nil || len(m.Responses) != 1 {
		return fmt.Sprintf("want one answer: %v", err)
	}
	got := m.Responses[0]
	if got.Error != "" || got.Status != status || got.Remaining != remaining || got.Limit != 10 {
		return fmt.Sprintf("want status %q and %d of 10", status, remaining)
	}
	if late := time.UnixMilli(got.ResetTime); late.Before(time.Now().Add(-time.Minute)) || late.After(time.Now().Add(366*24*time.Hour)) {
		return fmt.Sprintf("the reset is at %v", late)
	}
	return ""
}
