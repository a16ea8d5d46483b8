package mutants

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// The ways in which a hunt ends without having caught its mutant.
var (
	ErrSurvived = errors.New("the tests pass: nothing notices the mutant")
	ErrBuild    = errors.New("the mutant does not build")
	ErrElse     = errors.New("the tests fail, but not as the mutant should make them")
	ErrNoTest   = errors.New("no test ran")
)

const (
	// timeout is how long a hunt's tests may take. It only ends those that hang.
	timeout = 5 * time.Minute
	// maxRuns is how often the tests run that draw what they try, and so may not draw, or not first, what the mutant does wrong.
	maxRuns = 3
)

// A Lab builds mutants of the module whose root is the directory Root, an absolute path.
type Lab struct{ Root string }

// A Catch says how a mutant was caught.
type Catch struct {
	Test  string        // that failed, the innermost
	Says  string        // the line by which it was known
	After time.Duration // from the start of the tests, in the run that caught it, to that line
	Took  time.Duration // the whole hunt, building included
	Runs  int           // of the tests, the one that caught it included
}

// Hunt builds the mutant that overlay describes and runs the tests of h until one fails as h says: again, up to three times in all, if they
// passed or failed otherwise. What they leave on the disk is below dir. The error is ErrSurvived, ErrBuild, ErrElse or ErrNoTest,
// or says why go test did not run.
func (l *Lab) Hunt(ctx context.Context, overlay, dir string, h Hunt) (c Catch, err error) {
	says, err := regexp.Compile(h.Says)
	if err != nil {
		return Catch{}, err
	}
	begun := time.Now()
	for run := 1; run <= maxRuns; run++ {
		c, err = l.run(ctx, overlay, dir, h, says)
		if err == nil {
			c.Runs, c.Took = run, time.Since(begun)
			return c, nil
		}
		if !errors.Is(err, ErrSurvived) && !errors.Is(err, ErrElse) {
			break
		}
	}
	return Catch{}, err
}

// run runs the tests of h once.
func (l *Lab) run(ctx context.Context, overlay, dir string, h Hunt, says *regexp.Regexp) (Catch, error) {
	cmd := l.command(ctx, overlay, dir, h)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		return Catch{}, err
	}
	if err := cmd.Start(); err != nil {
		return Catch{}, err
	}
	w := watch{says: says, matched: map[string]Catch{}}
	if err := w.follow(output); err != nil {
		return Catch{}, errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	if w.caught != nil { // there is nothing more to learn
		cmd.Cancel() //nolint:errcheck // it may have ended by itself
		cmd.Wait()   //nolint:errcheck // it was killed
		return *w.caught, nil
	}
	err = cmd.Wait()
	text := strings.TrimSpace(stderr.String() + w.tail.String())
	switch {
	case ctx.Err() != nil:
		return Catch{}, ctx.Err()
	case w.unbuilt:
		return Catch{}, fmt.Errorf("%w:\n%s", ErrBuild, text)
	case w.failed:
		return Catch{}, fmt.Errorf("%w, saying %q:\n%s", ErrElse, h.Says, text)
	case err != nil:
		return Catch{}, fmt.Errorf("go test %s: %w:\n%s", h, err, text)
	case !w.ran:
		return Catch{}, fmt.Errorf("%w: go test %s", ErrNoTest, h)
	}
	return Catch{}, fmt.Errorf("%w: go test %s", ErrSurvived, h)
}

// command is go test in a process group of its own, so that nothing is left of it when it is broken off. What the tests
// build themselves is the mutant too.
func (l *Lab) command(ctx context.Context, overlay, dir string, h Hunt) *exec.Cmd {
	args := []string{
		"test", "-json", "-count=1", "-vet=off", "-overlay", overlay, "-timeout", timeout.String(), "-run", h.Run,
	}
	cmd := exec.CommandContext(ctx, "go", append(append(args, h.Package), h.Flags...)...) // after it stand flags that go does not know
	cmd.Dir = l.Root
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" '-overlay="+overlay+"'"), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// An event is one line of go test -json.
type event struct {
	Time   time.Time
	Action string
	Test   string
	Output string
}

// A watch follows the events of a hunt.
type watch struct {
	says *regexp.Regexp

	began   time.Time        // when the tests did
	matched map[string]Catch // by test: what it said, should it fail
	tail    bytes.Buffer     // of what was said
	ran     bool             // there was a test
	failed  bool             // one, or the package
	unbuilt bool
	caught  *Catch
}

// follow reads events until a test has failed as it should, or there are no more.
func (w *watch) follow(r io.Reader) error {
	lines := bufio.NewReader(r)
	for w.caught == nil {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if err := json.Unmarshal(line, &e); err != nil {
				return fmt.Errorf("go test -json said %q: %w", line, err)
			}
			w.note(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxTail is how many bytes of a hunt that failed otherwise are told.
const maxTail = 4 << 10

func (w *watch) note(e event) {
	switch e.Action {
	case "start":
		w.began = e.Time
	case "run":
		w.ran = true
	case "build-fail":
		w.unbuilt = true
	case "fail":
		w.failed = true
		if c, ok := w.matched[e.Test]; ok {
			w.caught = &c
		}
	}
	if e.Output == "" {
		return
	}
	if w.tail.WriteString(e.Output); w.tail.Len() > 2*maxTail {
		w.tail.Next(w.tail.Len() - maxTail)
	}
	line := strings.TrimSpace(e.Output)
	if strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
		return // it says nothing but the name of a test
	}
	if _, before := w.matched[e.Test]; !before && e.Test != "" && w.says.MatchString(line) {
		w.matched[e.Test] = Catch{Test: e.Test, Says: line, After: e.Time.Sub(w.began)}
	}
}
