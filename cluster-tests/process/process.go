// Package process runs jeton as users do: as processes of its own, started from a binary, stopped by signals and killed.
// A process ends with the test that started it. Start with [Build] and [Start].
package process

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a process may take to do what it is waited for, however slow the machine is. It only ends tests that hang.
const Patience = 3 * time.Minute

// binaries are those that were built, by their names. They are in a folder that Remove removes.
var binaries struct {
	sync.Mutex

	dir    string
	byName map[string]string
}

// Build compiles the jeton command, with build tags if any are given, once for all tests, and returns the path of the
// binary.
func Build(t *testing.T, tags ...string) string {
	t.Helper()
	tag := strings.Join(tags, ",")
	return build(t, "jeton-"+tag, "-tags", tag, module+"/cmd/jeton")
}

// BuildPrevious is Build of the previous level's command, from this repository's history: see .ci/build-previous.
func BuildPrevious(t *testing.T) string {
	t.Helper()
	return made(t, "jeton-previous", func(binary string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "bash", filepath.Join(root(t), ".ci", "build-previous"), binary)
	})
}

// BuildBench is Build of jeton-bench, which is in a module of its own.
func BuildBench(t *testing.T) string {
	t.Helper()
	return build(t, "jeton-bench", "-C", filepath.Join(root(t), "cmd", "bench"), "./jeton-bench")
}

// root is the folder of this repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal("go list: ", err)
	}
	return strings.TrimSpace(string(dir))
}

// module is this one.
const module = "github.com/jeton-dev/jeton"

// build runs go build once for all tests, for a binary of that name. The last argument is the package.
func build(t *testing.T, name string, args ...string) string {
	t.Helper()
	return made(t, name, func(binary string) *exec.Cmd {
		last := len(args) - 1
		return exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build"}, args[:last], []string{"-o", binary, args[last]})...)
	})
}

// made runs a command that makes a binary of that name once for all tests.
func made(t *testing.T, name string, command func(binary string) *exec.Cmd) string {
	t.Helper()
	b := &binaries
	b.Lock()
	defer b.Unlock()
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "jeton-binaries-") //nolint:usetesting // it outlives the test
		if err != nil {
			t.Fatal(err)
		}
		b.dir, b.byName = dir, map[string]string{}
	}
	for _, dir := range filepath.SplitList(os.Getenv(shared)) {
		if binary := filepath.Join(dir, name); b.byName[name] == "" && binaryAt(binary) {
			b.byName[name] = binary
		}
	}
	if b.byName[name] == "" {
		binary := filepath.Join(b.dir, name)
		if out, err := command(binary).CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", name, err, out)
		}
		b.byName[name] = binary
	}
	return b.byName[name]
}

// shared is the variable that names the folders with binaries which other processes of tests have built.
const shared = "CLUSTER_TESTS_BINARIES"

func binaryAt(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Shared is an entry of the environment by which a process of tests that this one starts takes the binaries that were built
// here, instead of building them again.
func Shared() string {
	binaries.Lock()
	defer binaries.Unlock()
	return shared + "=" + strings.Join(append(filepath.SplitList(os.Getenv(shared)), binaries.dir), string(filepath.ListSeparator))
}

// Remove removes what Build has built.
func Remove() error {
	binaries.Lock()
	defer binaries.Unlock()
	return os.RemoveAll(binaries.dir)
}

// A Node is a running "jeton serve" or "jeton dev".
type Node struct {
	GRPC, HTTP string // addresses it listens on

	t      *testing.T
	cmd    *exec.Cmd
	log    *log
	exited chan struct{} // closed when the process has ended
}

// How a node says that it serves, and where.
var (
	serving = regexp.MustCompile(`msg=serving .*grpc=(\S+) http=(\S+)`)
	welcome = regexp.MustCompile(`gRPC +(\S+) +HTTP +http://(\S+)[\s\S]*Ctrl-C`)
)

// Start runs "jeton serve" on free ports with the arguments, and returns when it serves.
func Start(t *testing.T, binary string, args ...string) *Node {
	t.Helper()
	n := Launch(t, binary, append([]string{"serve"}, onFreePorts(args)...)...)
	found := n.waitFor(serving)
	n.GRPC, n.HTTP = found[1], found[2]
	return n
}

// StartShell runs "jeton serve" likewise, from a script of the shell in which the command is "$0" "$@".
func StartShell(t *testing.T, script, binary string, args ...string) *Node {
	t.Helper()
	n := Launch(t, "sh", append([]string{"-c", script, binary, args[0]}, onFreePorts(args[1:])...)...)
	found := n.waitFor(serving)
	n.GRPC, n.HTTP = found[1], found[2]
	return n
}

// StartDev runs "jeton dev", with its first node's ports from port on, and its gateway's anywhere. GRPC and HTTP are those
// of the first node.
func StartDev(t *testing.T, binary string, port int, args ...string) *Node {
	t.Helper()
	gateway := strconv.Itoa(FreePorts(t, 4))
	n := Launch(t, binary, append([]string{"dev", "--port", strconv.Itoa(port), "--gateway-port", gateway}, args...)...)
	found := n.waitFor(welcome)
	n.GRPC, n.HTTP = found[1], found[2]
	return n
}

func onFreePorts(args []string) []string {
	var listen []string
	for _, kind := range []string{"grpc", "http", "gossip", "raft"} {
		listen = append(listen, "--listen-"+kind, "127.0.0.1:0")
	}
	return append(listen, args...)
}

// Launch runs a program that is to end by itself, by a signal, or with the test, and does not wait.
func Launch(t *testing.T, program string, args ...string) *Node {
	t.Helper()
	cmd := exec.Command(program, args...) //nolint:noctx // it is ended by signals, which are what is tested
	cmd.Env = Environ()
	return LaunchCommand(t, cmd)
}

// LaunchCommand is Launch of a command that its caller has made.
func LaunchCommand(t *testing.T, cmd *exec.Cmd) *Node {
	t.Helper()
	n, err := run(t, cmd, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// run starts a process whose output is kept, and goes to besides too unless that is nil.
func run(t *testing.T, cmd *exec.Cmd, besides io.WriteCloser) (*Node, error) {
	t.Helper()
	n := &Node{t: t, cmd: cmd, log: &log{changed: make(chan struct{}), besides: besides}, exited: make(chan struct{})}
	output, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = input, input
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, input.Close(), output.Close())
	}
	input.Close() //nolint:errcheck // the process has its own
	go func() {
		n.log.read(output)
		output.Close() //nolint:errcheck // read to its end
		n.cmd.Wait()   //nolint:errcheck // how it ended is read off its state
		close(n.exited)
	}()
	t.Cleanup(n.Kill)
	return n, nil
}

// Environ is the environment without jeton's own variables.
func Environ() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "JETON_") {
			env = append(env, v)
		}
	}
	return env
}

// Kill ends the process as kill -9 does, and returns when it is gone.
func (n *Node) Kill() {
	n.cmd.Process.Kill() //nolint:errcheck // it may have ended already
	<-n.exited
}

// nodeProcess is how "jeton dev" says which processes its nodes are.
var nodeProcess = regexp.MustCompile(`HTTP +http://\S+ +process (\d+)`)

// KillAll ends a "jeton dev" and all of its nodes as kill -9 does.
func (n *Node) KillAll() {
	n.t.Helper()
	for _, found := range nodeProcess.FindAllStringSubmatch(n.Log(), -1) {
		pid, err := strconv.Atoi(found[1])
		if err != nil {
			n.t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			n.t.Fatalf("kill node %d: %v", pid, err)
		}
	}
	n.Kill()
}

// Signal sends a signal.
func (n *Node) Signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.Send(s); err != nil {
		n.t.Fatalf("signal %v: %v", s, err)
	}
}

// Send is Signal with an error instead of the end of the test, for goroutines other than the test's.
func (n *Node) Send(s syscall.Signal) error { return n.cmd.Process.Signal(s) }

// Stop asks the process to end, as an operator does, and returns its exit code.
func (n *Node) Stop() int {
	n.t.Helper()
	n.Signal(syscall.SIGTERM)
	return n.ExitCode()
}

// Exited is closed when the process has ended, for whatever reason.
func (n *Node) Exited() <-chan struct{} { return n.exited }

// Terminate is Stop with an error instead of the end of the test, for goroutines other than the test's: when the process
// does not end before the context.
func (n *Node) Terminate(ctx context.Context) (code int, err error) {
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return -1, err
	}
	select {
	case <-n.exited:
		return n.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return -1, fmt.Errorf("the process has not ended after SIGTERM: %w", ctx.Err())
	}
}

// ExitCode waits until the process has ended by itself. One that does not says what all its goroutines do.
func (n *Node) ExitCode() int {
	n.t.Helper()
	select {
	case <-n.exited:
		return n.cmd.ProcessState.ExitCode()
	case <-time.After(Patience):
	}
	n.Signal(syscall.SIGQUIT)
	select {
	case <-n.exited:
	case <-time.After(Patience):
	}
	n.t.Fatalf("the process did not end; it said:\n%s", n.log)
	return -1
}

// WaitForLog returns when the process has logged something that matches.
func (n *Node) WaitForLog(pattern string) {
	n.t.Helper()
	n.waitFor(regexp.MustCompile(pattern))
}

// Log is what the process has logged so far.
func (n *Node) Log() string { return n.log.String() }

func (n *Node) waitFor(pattern *regexp.Regexp) []string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), Patience)
	defer cancel()
	for {
		text, changed := n.log.now()
		if found := pattern.FindStringSubmatch(text); found != nil {
			return found
		}
		select {
		case <-changed:
		case <-n.exited:
			if text, _ = n.log.now(); !pattern.MatchString(text) {
				n.t.Fatalf("the process ended before it logged %s:\n%s", pattern, text)
			}
		case <-ctx.Done():
			n.t.Fatalf("the process has not logged %s:\n%s", pattern, text)
		}
	}
}

// A log is what a process writes.
type log struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed with the next line

	besides io.WriteCloser // gets every line too, unless nil; the goroutine that reads alone writes and closes it
}

func (l *log) read(r io.Reader) {
	if l.besides != nil {
		defer l.besides.Close()
	}
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if l.besides != nil {
			io.WriteString(l.besides, line) //nolint:errcheck // the log is kept in memory too
		}
		l.mu.Lock()
		l.text.WriteString(line)
		close(l.changed)
		l.changed = make(chan struct{})
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (l *log) now() (text string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String(), l.changed
}

// String is everything that was logged so far.
func (l *log) String() string {
	text, _ := l.now()
	return text
}

// Run runs a verb to its end and returns its output and exit code.
func Run(t *testing.T, binary string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = Environ()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}
