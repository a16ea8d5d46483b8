package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"
)

// startWithin is how long a child may take until it serves.
const startWithin = 2 * time.Minute

// A child is a process that the benchmark has started, and ends. It has this process's environment without jeton's own
// variables, so that all children have the same GOMAXPROCS and GOGC.
type child struct {
	name    string
	cmd     *exec.Cmd
	started time.Time
	exited  chan struct{} // closed when it has ended and all that it said was read

	mu   sync.Mutex
	tail []string // the last lines that it said
}

// start runs a program until it says a line that matches, and returns the groups of that match. A child that cannot be
// waited for has been ended.
func start(ctx context.Context, name string, ready *regexp.Regexp, program string, args ...string) (*child, []string, error) {
	c := &child{name: name, exited: make(chan struct{})}
	c.cmd = exec.Command(program, args...) //nolint:noctx // stop ends it
	c.cmd.Env = environ()
	c.cmd.SysProcAttr = tied()
	output, input, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	c.cmd.Stdout, c.cmd.Stderr = input, input
	c.started = time.Now()
	err = c.cmd.Start()
	if err = errors.Join(err, input.Close()); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start %s: %w", name, err), output.Close())
	}
	found := make(chan []string, 1)
	go func() {
		defer close(c.exited)
		c.read(output, ready, found)
		output.Close() //nolint:errcheck // read to its end
		c.cmd.Wait()   //nolint:errcheck // how it ended does not matter: it should not have, or was killed
	}()
	timer := time.NewTimer(startWithin)
	defer timer.Stop()
	select {
	case groups := <-found:
		return c, groups, nil
	case <-c.exited:
		err = fmt.Errorf("%s ended at once:\n%s", name, c.said())
	case <-timer.C:
		err = fmt.Errorf("%s does not serve after %v:\n%s", name, startWithin, c.said())
	case <-ctx.Done():
		err = errInterrupted
	}
	c.stop()
	return nil, nil, err
}

// environ is the environment without jeton's own variables.
func environ() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "JETON_") {
			env = append(env, v)
		}
	}
	return env
}

// read takes in what the child says until it ends.
func (c *child) read(output io.Reader, ready *regexp.Regexp, found chan<- []string) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if groups := ready.FindStringSubmatch(lines.Text()); groups != nil {
			select {
			case found <- groups:
			default: // said again
			}
		}
		c.mu.Lock()
		c.tail = append(c.tail[max(0, len(c.tail)-9):], lines.Text())
		c.mu.Unlock()
	}
	io.Copy(io.Discard, output) //nolint:errcheck // after a line too long for the Scanner
}

// said is the last that the child said.
func (c *child) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.tail, "\n")
}

// stop ends the child at once, as kill -9 does, and returns when it is gone: its data is not needed any more.
func (c *child) stop() {
	c.cmd.Process.Kill() //nolint:errcheck // it may have ended already
	<-c.exited
}

// alive says what a child that has ended by itself said last.
func (c *child) alive() error {
	select {
	case <-c.exited:
		return fmt.Errorf("%s has ended by itself:\n%s", c.name, c.said())
	default:
		return nil
	}
}

func (c *child) cpu() time.Duration { return processCPU(c.cmd.Process.Pid) }

// children are processes that serve together.
type children []*child

func (cs children) stop() {
	for _, c := range cs {
		c.stop()
	}
}

// alive says what those said last that have ended by themselves.
func (cs children) alive() error {
	var errs []error
	for _, c := range cs {
		errs = append(errs, c.alive())
	}
	return errors.Join(errs...)
}

// cpu is the processor time of all of them.
func (cs children) cpu() time.Duration {
	total := time.Duration(0)
	for _, c := range cs {
		total += c.cpu()
	}
	return total
}
