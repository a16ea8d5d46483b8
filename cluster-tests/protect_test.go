package clustertests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// programs builds the Go programs of docs/protect-an-api.md, with other addresses in them, and returns the paths of the
// binaries.
func (s *site) programs(address, document string) (binaries []string) {
	s.Helper()
	page, err := os.ReadFile("../docs/protect-an-api.md")
	if err != nil {
		s.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllStringSubmatch(string(page), -1) {
		dir := s.TempDir()
		file, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
		text := strings.NewReplacer(
			"127.0.0.1:7700", s.cluster.Members[0].GRPC, "127.0.0.1:8080", address, "deploy/gateway/forward-auth.yaml", document,
		).Replace(block[1])
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
		if out, err := exec.CommandContext(s.Context(), "go", "build", "-o", binary, file).CombinedOutput(); err != nil {
			s.Fatalf("go build: %v\n%s\n%s", err, out, text)
		}
		binaries = append(binaries, binary)
	}
	return binaries
}

// The gateway as a part of a Go service, just as the documentation has it: around an HTTP handler, and around gRPC.
func TestProtectProgram(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	address := loopback(t)
	document := filepath.Join(render(t, "../deploy/gateway", "\ncluster:\n", "\nname: program\ncluster:\n  decide_within: 30s\n  repeat_denials: 0s\n"), "forward-auth.yaml")
	binaries := s.programs(address, document)
	if len(binaries) != 2 {
		t.Fatalf("the page has %d programs, want one of HTTP and one of gRPC", len(binaries))
	}

	p := s.startProxy(address, binaries[0])
	s.heard(address)
	s.inside = true
	s.burst(at(address), known)
	p.Kill()

	s.refill()
	s.startProxy(address, binaries[1])
	s.calls(address)
}

// heard returns when the program decides by the limits of the cluster and has their list, from which the window is told: one
// who is not known is asked for, so that nothing is taken from the bucket of the test.
func (s *site) heard(address string) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(process.Patience); ; <-tick.C {
		if a := s.send("GET", address, "/", "", map[string][]string{}); strings.Contains(a.header.Get("RateLimit-Policy"), ";w=") {
			return
		}
		if time.Now().After(end) {
			s.Fatal("the program does not tell of limits")
		}
	}
}

// calls makes more calls of a gRPC service than the limit admits.
func (s *site) calls(address string) {
	s.Helper()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // nothing is under way any more
	ctx := metadata.AppendToOutgoingContext(s.Context(), "x-api-key", siteKey)
	got := map[codes.Code]int{}
	start := time.Now()
	for range siteRequests {
		var trailer metadata.MD
		_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true), grpc.Trailer(&trailer))
		got[grpcstatus.Code(err)]++
		if grpcstatus.Code(err) == codes.ResourceExhausted && (len(trailer.Get("retry-after")) == 0 || len(trailer.Get("ratelimit")) == 0) {
			s.Errorf("a denial tells in its trailer %v", trailer)
		}
	}
	most := siteCapacity + int((time.Since(start)+50*time.Millisecond).Seconds()*siteRefill)
	undecided := got[codes.Unavailable] // the machine has stalled
	if ok := got[codes.OK]; ok < siteCapacity-undecided || ok > most || ok+got[codes.ResourceExhausted]+undecided != siteRequests {
		s.Errorf("the calls ended with %v, want %d to %d of them admitted", got, siteCapacity, most)
	}
}

// Every file that the page names is there, and so is every port that it speaks of.
func TestProtectPage(t *testing.T) {
	page, err := os.ReadFile("../docs/protect-an-api.md")
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile(`\b(deploy|cluster-tests|docs)/[\w./-]*\w`).FindAllString(string(page), -1)
	if len(files) < 8 {
		t.Errorf("the page names %q only", files)
	}
	for _, file := range files {
		if _, err := os.Stat(filepath.Join("..", file)); err != nil {
			t.Error(err)
		}
	}
	binary := process.Build(t)
	for _, verb := range regexp.MustCompile(`\./jeton ((?:[a-z]+ ?)+)`).FindAllStringSubmatch(string(page), -1) {
		args := append(strings.Fields(verb[1]), "--help")
		if _, errs, code := process.Run(t, binary, args...); code != 0 {
			t.Errorf("jeton %q: exit code %d: %s", args, code, errs)
		}
	}
}
