// Package network is a laboratory for processes that lose each other: a network of its own for one test, in which every
// host is a namespace behind one router, and the router drops what the test asks for. It drops in silence, as cables and
// switches do: who sends hears nothing, connects for ever, and takes its connections for alive.
//
//	        the test ("the operator", never cut off)
//	           │
//	node-1 ─ router ─ caller-1        lab.Cut("node-1", "node-2")
//	         │   │
//	    node-2   node-3
//
// [Run] runs a test in such a network. The test binary starts itself again for that one test, in namespaces of its own for
// network, mounts and processes; with the last of its processes they are gone, whatever happens, and tests side by side may
// use the same addresses and ports. What the test mounts in there, no other process sees.
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		binary := process.Build(t) // before Run: it is built once for all tests
//		network.Run(t, func(lab *network.Lab) {
//			c := process.StartClusterIn(t, lab, binary, 3, limits)
//			caller, err := client.New(client.Config{Servers: c.Servers(), Dial: lab.Dial("caller-1")})
//			…
//			lab.Cut("node-1", "node-2")
//			…
//			lab.Heal()
//		})
//	}
//
// Hosts are known by name and made when first named: the nodes of a process.Cluster bear the names of its members, any other
// name is as good for a caller. The test itself stands at the router: what it starts or asks without naming a host reaches
// every host, whatever is cut.
//
// Connections that were cut off go on after healing: the kernel sends again what was lost, after pauses that have doubled
// with each attempt. New attempts to connect do the same.
//
// It needs Linux, the programs ip (of iproute2) and nsenter (of util-linux), and either root or a kernel that lets users make
// namespaces. Where something is missing the test fails and says what, or is skipped with -short.
package network

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
)

// inside is the variable by which a test binary knows that it was started by Run.
const inside = "CLUSTER_TESTS_NETWORK"

// Run runs f, which is the whole rest of the test, in a network of its own. A test calls it once, and does nothing after it;
// what it does before is done twice, outside and inside.
func Run(t *testing.T, f func(lab *Lab)) {
	t.Helper()
	if os.Getenv(inside) == "" {
		outside(t)
		return
	}
	lab, err := open(t)
	if err != nil {
		lacking(t, err)
	}
	f(lab)
}

// lacking ends a test for which there can be no network.
func lacking(t *testing.T, err error) {
	t.Helper()
	text := fmt.Sprintf("there is no network of its own for this test, which needs Linux, the programs ip and nsenter, and root or "+
		"a kernel that lets users make namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns); "+
		"-short leaves it out: %v", err)
	if testing.Short() {
		t.Skip(text)
	}
	t.Fatal(text)
}

// outside runs the test again, inside, and passes on what becomes of it.
func outside(t *testing.T) {
	t.Helper()
	for _, program := range []string{"ip", "nsenter"} {
		if _, err := find(program); err != nil {
			lacking(t, err)
		}
	}
	dir, err := os.MkdirTemp("", "lab-") //nolint:usetesting // a short path, for sockets within
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // what a test leaves in the folder for temporary files is no failure
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	output, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close() //nolint:errcheck // it is only read
	cmd := exec.CommandContext(t.Context(), self, arguments(t)...)
	cmd.Env = append(os.Environ(), inside+"=1", "TMPDIR="+dir, process.Shared())
	cmd.Stdout, cmd.Stderr = input, input
	runtime.LockOSThread() // the child dies with the thread that started it
	defer runtime.UnlockOSThread()
	err = start(cmd)
	input.Close() //nolint:errcheck // the child has its own
	if err != nil {
		lacking(t, err)
	}
	became := relay(t, output)
	if err := cmd.Wait(); err != nil && became != "FAIL" {
		t.Fatalf("the test ended without a verdict: %v", err)
	}
	switch became {
	case "PASS":
	case "SKIP":
		t.SkipNow()
	case "FAIL":
		t.FailNow()
	default:
		t.Fatal("the test has not run")
	}
}

// arguments are those of the test binary that runs this one test.
func arguments(t *testing.T) []string {
	t.Helper()
	var parts []string
	for part := range strings.SplitSeq(t.Name(), "/") {
		parts = append(parts, "^"+regexp.QuoteMeta(part)+"$")
	}
	args := []string{"-test.run=" + strings.Join(parts, "/"), "-test.v=true", "-test.count=1", "-test.paniconexit0"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	if at, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+max(time.Until(at)-5*time.Second, time.Second).String())
	}
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// verdict is a line in which the test binary says what became of a test.
var verdict = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) `)

// relay logs what the test says inside, line by line, and returns what became of it: PASS, FAIL, SKIP, or nothing.
func relay(t *testing.T, output io.Reader) (became string) {
	t.Helper()
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		text := strings.TrimRight(strings.TrimPrefix(line, "    "), "\n")
		word, name := "", ""
		if found := verdict.FindStringSubmatch(line); len(found) == 3 {
			word, name = found[1], found[2]
		}
		switch {
		case name == t.Name():
			became = word
		case name != "" && strings.HasPrefix(t.Name(), name+"/"), text == "PASS", text == "FAIL", strings.HasPrefix(text, "=== "):
		case text != "":
			t.Log(text)
		}
		if err != nil {
			return became
		}
	}
}
