package clustertests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/cluster-tests/transcript"
)

// TestDocsCommands runs the commands of the README and of every page in docs, in order, a page at a time: in a network of its
// own, so that addresses and ports are those of the page, and in a copy of this repository. What a page shows of their
// output is compared. A block that cannot be run says why: see package transcript.
func TestDocsCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes networks")
	}
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	run := 0
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks, err := transcript.Read(string(text))
		if err != nil {
			t.Errorf("%s: %v", page, err)
		}
		left := 0
		for _, b := range blocks {
			if b.NotRun != "" {
				left++
			}
		}
		if len(blocks) == left {
			continue
		}
		run += len(blocks) - left
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			s := newShell(t, page)
			for _, b := range blocks {
				s.block(b)
			}
		})
	}
	if run < 8 {
		t.Errorf("only %d blocks of all pages are run", run)
	}
}

// A shell is a bash that types what a page says.
type shell struct {
	*testing.T

	page    string
	dir     string // the copy of the repository
	home    string // for what the page keeps elsewhere
	typed   io.Writer
	codes   *bufio.Reader // a line for each command: its exit code
	files   int           // of output
	printed string        // by the last command
}

// shellSetup ends with the shell all that was started in it, and has go build and run the binary that was built before.
const shellSetup = `
ip link set lo up || exit 1
set -m # each job is a group of processes
stop() {
	for job in $(jobs -p); do kill -- -"$job"; done
	wait
}
trap stop EXIT
go() {
	case "$1 $2 $3 $4" in
	"build -o jeton ./cmd/jeton") cp "$(command -v jeton)" jeton ;;
	"run ./cmd/jeton "*) shift 2; jeton "$@" ;;
	*) echo "go $*: the test does not know this command" >&2; return 1 ;;
	esac
}
`

// newShell starts a bash for a page, which ends with the test.
func newShell(t *testing.T, page string) *shell {
	t.Helper()
	s := &shell{T: t, page: filepath.Base(page), dir: t.TempDir(), home: t.TempDir()}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		target, err := filepath.Abs(filepath.Join("..", e.Name()))
		if err == nil && e.Name() != "jeton" && e.Name() != "jeton-bench" && e.Name() != "jeton-data" {
			err = os.Symlink(target, filepath.Join(s.dir, e.Name()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(process.Build(t), filepath.Join(s.home, "jeton")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "bash") // stop comes after the test
	cmd.Dir = s.dir
	cmd.Env = append(process.Environ(), "XDG_CACHE_HOME="+filepath.Join(s.home, "cache"), "HOME="+s.home, "PATH="+s.home+":"+os.Getenv("PATH")+":/usr/sbin:/sbin")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	typed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	codes, code, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{code}
	var says strings.Builder
	cmd.Stderr, cmd.WaitDelay = &says, 10*time.Second // what is left behind may hold it open
	if err := errors.Join(cmd.Start(), code.Close()); err != nil {
		t.Fatal("a network of its own: ", err)
	}
	t.Cleanup(func() {
		err := errors.Join(typed.Close(), cmd.Wait(), codes.Close())
		if err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the shell said:\n%s", says.String())
		}
	})
	s.typed, s.codes = typed, bufio.NewReader(codes)
	fmt.Fprint(s.typed, shellSetup)
	return s
}

// block does what a block says.
func (s *shell) block(b transcript.Block) {
	s.Helper()
	for _, before := range b.Before {
		s.command(transcript.Command{Line: b.Line, Text: before})
	}
	if b.File != "" {
		if err := os.WriteFile(filepath.Join(s.dir, b.File), []byte(b.Content), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	if b.NotRun != "" {
		return
	}
	for _, c := range b.Commands {
		s.command(c)
	}
}

var (
	// endless are commands that run until they are stopped.
	endless = regexp.MustCompile(`^(go run \./cmd/jeton|(\./)?jeton) (serve|dev|gateway --config [^ ]+$)`)
	// serves is what they print when they can be asked.
	serves = regexp.MustCompile(`msg=serving|Ctrl-C`)
	// told is the id of a denial or of an exchange with a language model.
	told = regexp.MustCompile(`(?:urn:jeton:denial:|X-Jeton-Exchange: )([a-z0-9-]+)`)
	// anID is one that a page shows.
	anID = regexp.MustCompile(`(explain )[a-z]+(?:-[a-z0-9]+){2,}`)
)

// tries is how often a command is run, for a minute at least, until it prints what the page shows: a token may just have come back, or a
// gateway that was just started may not have asked the cluster yet.
const tries = 20

// command runs a command, and waits until it has ended or, where it does not end, until it serves.
func (s *shell) command(c transcript.Command) {
	s.Helper()
	text := strings.NewReplacer(
		"/var/lib/jeton", filepath.Join(s.home, "data"), "/etc/jeton", filepath.Join(s.home, "etc"),
		// One node of the three, alone: the others would be other machines.
		"--expect 3 --join a:7701,b:7701,c:7701 --advertise a", "--expect 1 --advertise 127.0.0.1",
	).Replace(c.Text)
	if id := told.FindStringSubmatch(s.printed); id != nil {
		text = anID.ReplaceAllString(text, "${1}"+id[1])
	}
	if endless.MatchString(text) {
		s.background(c, text)
		return
	}
	began := time.Now()
	for try := 1; ; try++ {
		code, printed := s.run(text, "{\n%s\n} </dev/null >%s 2>&1; echo $? >&3\n")
		s.printed = printed
		// A command of jeton may answer no; what the page shows may be an error of it.
		ok := code == 0 || code == 1 && strings.Contains(text, "jeton ") || strings.HasPrefix(c.Shows, "jeton: ") && code == 2
		if ok && transcript.Matches(c.Shows, printed) {
			return
		}
		if try >= tries && time.Since(began) > time.Minute || c.Shows == "" {
			s.Fatalf("%s:%d: %s\nended with exit code %d and printed\n%s\nthe page shows\n%s", s.page, c.Line, text, code, printed, c.Shows)
		}
		<-time.After(50 * time.Millisecond)
	}
}

// background starts what does not end.
func (s *shell) background(c transcript.Command, text string) {
	s.Helper()
	program := strings.Replace(text, "go run ./cmd/jeton", "jeton", 1)
	// exec: the job is the program itself, so that waiting for one is waiting for the other.
	if code, _ := s.run(program, "{\nexec %s\n} </dev/null >%s 2>&1 &\necho 0 >&3\n"); code != 0 {
		s.Fatalf("%s:%d: exit code %d", s.page, c.Line, code)
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(process.Patience); ; {
		printed, err := os.ReadFile(s.output())
		if err == nil && serves.Match(printed) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			s.Fatalf("%s:%d: %s\ndoes not serve after minutes, and printed\n%s", s.page, c.Line, text, printed)
		}
	}
}

// output is the file of what the last command prints.
func (s *shell) output() string { return filepath.Join(s.home, "output-"+strconv.Itoa(s.files)) }

// run types a command, in a form that has it and its output, and waits for its exit code.
func (s *shell) run(text, form string) (code int, printed string) {
	s.Helper()
	s.files++
	if err := os.WriteFile(s.output(), nil, 0o600); err != nil {
		s.Fatal(err)
	}
	if _, err := fmt.Fprintf(s.typed, form, text, s.output()); err != nil {
		s.Fatal(err)
	}
	line, err := s.codes.ReadString('\n')
	if err != nil {
		s.Fatalf("%s: %v: the shell has ended", text, err)
	}
	if code, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		s.Fatal(err)
	}
	out, err := os.ReadFile(s.output())
	if err != nil {
		s.Fatal(err)
	}
	return code, string(out)
}
