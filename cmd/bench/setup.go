package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// The limits of a node that is compared: open lets everything pass that one key can be asked here, and once denies
// everything but a key's first check.
const (
	openLimit    = "open"
	onceLimit    = "once"
	openCapacity = 1_000_000_000
	limitsText   = `limits:
  open: {capacity: 1000000000, refill: 1000000000/s}
  once: {capacity: 1, refill: 1/24h}
`
)

// A Setup says how to start what is measured.
type Setup struct {
	// Program is the path of the jeton binary. Required.
	Program string
	// Listen are the flags that make "jeton serve" listen on free ports. Required.
	Listen []string
	// Temp is the folder in which the data of nodes is kept for as long as they run, on the disk that is to be measured;
	// empty means os.TempDir.
	Temp string
	// Log gets what is being done at the moment; nil discards it.
	Log io.Writer
}

func (s *Setup) check() error {
	if s.Log == nil {
		s.Log = io.Discard
	}
	if s.Temp == "" {
		s.Temp = os.TempDir()
	}
	if info, err := os.Stat(s.Temp); err != nil || !info.IsDir() {
		return flagError("temp", "%s is not a folder", s.Temp)
	}
	return nil
}

func (s *Setup) say(format string, args ...any) { fmt.Fprintf(s.Log, format+"\n", args...) }

// folder makes a folder that remove removes with all that is in it.
func (s *Setup) folder() (path string, remove func() error, err error) {
	path, err = os.MkdirTemp(s.Temp, "jeton-bench-")
	if err != nil {
		return "", nil, flagError("temp", "%w", err)
	}
	return path, func() error { return os.RemoveAll(path) }, nil
}

// How a node, and the no-op, says that it serves, and where.
var serving = regexp.MustCompile(`msg=serving .*grpc=(\S+) http=(\S+)`)

// A runningNode is a child that is a node.
type runningNode struct {
	*child
	grpc, http string // addresses
}

// startNode starts a node with its data in a folder, and the limits above.
func (s *Setup) startNode(ctx context.Context, data string, d storage.Durability) (*runningNode, error) {
	limits := filepath.Join(filepath.Dir(data), "limits.yaml")
	if err := os.WriteFile(limits, []byte(limitsText), 0o600); err != nil {
		return nil, err
	}
	args := append([]string{"serve", "--data", data, "--limits", limits, "--durability", string(d)}, s.Listen...)
	c, found, err := start(ctx, "the node", serving, s.Program, args...)
	if err != nil {
		return nil, err
	}
	return &runningNode{child: c, grpc: found[1], http: found[2]}, nil
}

// startNoop starts the service that decides nothing, and returns its address.
func (s *Setup) startNoop(ctx context.Context, limitName string, deny bool) (*child, string, error) {
	args := []string{"bench", "noop-server", "--limit", limitName, fmt.Sprintf("--deny=%t", deny)}
	c, found, err := start(ctx, "the no-op", serving, s.Program, args...)
	if err != nil {
		return nil, "", err
	}
	return c, found[1], nil
}

// A side is one of the two that are compared.
type side struct {
	name    string
	child   *child
	service service
}

// close ends the side. It may be called on a side that was never opened.
func (s *side) close() error {
	if s == nil {
		return nil
	}
	err := s.service.close()
	s.child.stop()
	return err
}

// nodeSide starts a node as a side. remove is to be called after it is closed.
func (s *Setup) nodeSide(ctx context.Context, data string, d storage.Durability, l Load) (*side, error) {
	n, err := s.startNode(ctx, data, d)
	if err != nil {
		return nil, err
	}
	return overGRPC(ctx, "node", n.child, n.grpc, l)
}

func (s *Setup) noopSide(ctx context.Context, l Load) (*side, error) {
	c, address, err := s.startNoop(ctx, l.Limit.Name, l.Limit.Name == onceLimit)
	if err != nil {
		return nil, err
	}
	return overGRPC(ctx, "no-op", c, address, l)
}

func overGRPC(ctx context.Context, name string, c *child, address string, l Load) (*side, error) {
	service, err := dial(ctx, address, l, c.cpu)
	if err != nil {
		c.stop()
		return nil, err
	}
	return &side{name: name, child: c, service: service}, nil
}

// spend checks every key once, so that a limit that admits only one check denies all that follow.
func (s *side) spend(ctx context.Context, l Load) error {
	keys, err := newKeySpace(l)
	if err != nil {
		return err
	}
	c, t := s.service.caller(0), newTally()
	for from := 0; from < len(keys.keys); from += l.Batch {
		batch := make([]string, l.Batch)
		for i := range batch {
			batch[i] = keys.keys[min(from+i, len(keys.keys)-1)]
		}
		if !c.call(ctx, batch, t) {
			return errInterrupted
		}
	}
	if faults := t.sortedFaults(); len(faults) > 0 {
		return fmt.Errorf("the %s did not take the first check of every key: %s", s.name, faults[0].First)
	}
	return nil
}

// measure puts the load on this side, and refuses a report that says nothing about it.
func (s *side) measure(ctx context.Context, l Load) (Report, error) {
	r, err := measure(ctx, l, s.service)
	unexpected := r.Denied
	if l.Limit.Name == onceLimit {
		unexpected = r.Allowed
	}
	switch {
	case err != nil:
		return r, err
	case r.Interrupted:
		return r, errInterrupted
	case r.Checks == 0:
		err = errors.New("no check was answered in time: a longer --duration is needed")
	case r.errors() > r.Checks/1000:
		err = fmt.Errorf("%d of %d checks ended with an error, the first with %s: %s",
			r.errors(), r.Checks, r.Errors[0].Code, r.Errors[0].First)
	case unexpected > r.Checks/1000:
		err = fmt.Errorf("%d of %d checks were allowed, %d denied: not what was to be measured", r.Allowed, r.Checks, r.Denied)
	}
	if err != nil {
		return r, errors.Join(fmt.Errorf("the %s: %w", s.name, err), s.child.alive())
	}
	return r, nil
}

// fsyncRounds and fsyncFor bound how long the disk is measured.
const (
	fsyncRounds = 300
	fsyncFor    = 2 * time.Second
)

// fsyncTime is the median time of writing 4 KiB and an fsync to a file in a folder.
func fsyncTime(folder string) (time.Duration, error) {
	f, err := os.CreateTemp(folder, "fsync-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // the folder goes too
	var times []time.Duration
	block := make([]byte, 4096)
	for begin := time.Now(); len(times) < fsyncRounds && time.Since(begin) < fsyncFor; {
		start := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, errors.Join(err, f.Close())
		}
		if err := f.Sync(); err != nil {
			return 0, errors.Join(err, f.Close())
		}
		times = append(times, time.Since(start))
	}
	return spreadOf(times).Median, f.Close()
}

// limitFor is the limit of a comparison.
func limitFor(deny bool) limit.Ref {
	if deny {
		return limit.Named(onceLimit)
	}
	return limit.Named(openLimit)
}
