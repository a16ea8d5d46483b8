package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage"
)

// The limits of a node that is compared. Open lets everything pass that one key can be asked here. Minute and clients are limits as people
// have them: minute lets everything pass where manyKeys share the load, clients where a gateway's do. Once denies everything but a key's first
// check.
const (
	openLimit    = "open"
	minuteLimit  = "minute"
	clientsLimit = "clients"
	leasedLimit  = "leased" // as clients, decided by gateways
	onceLimit    = "once"
	openCapacity = 1_000_000_000
	limitsText   = `limits:
  open:    {capacity: 1000000000, refill: 1000000000/s}
  minute:  {capacity: 6000, refill: 6000/1m}
  clients: {capacity: 60000, refill: 60000/1m}
  leased:  {capacity: 60000, refill: 60000/1m, consistency: leased}
  once:    {capacity: 1, refill: 1/24h}
` + clientLimitsText + holdLimitsText
)

// A Setup says how to start what is measured.
type Setup struct {
	// Program is the path of the jeton binary, which runs nodes and gateways. Required to start one.
	Program string
	// Self is the path of this program, which serves what they are measured against. Required to start that.
	Self string
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

// How a node, and the no-op, says that it serves, and where. The no-op knows of no gossip.
var serving = regexp.MustCompile(`msg=serving .*grpc=(\S+) http=(\S+)(?: gossip=(\S+))?(?: redis=(\S+))?`)

// A runningNode is a child that is a node.
type runningNode struct {
	*child
	grpc, http, gossip, redis string // addresses
}

// onFreePorts are the flags that make "jeton serve" listen on free ports.
var onFreePorts = []string{
	"--listen-grpc", "127.0.0.1:0", "--listen-http", "127.0.0.1:0", "--listen-gossip", "127.0.0.1:0", "--listen-raft", "127.0.0.1:0",
}

// startNode starts a node with its data in a folder of that name, and the limits above. Further flags may be given.
func (s *Setup) startNode(ctx context.Context, data string, d storage.Durability, flags ...string) (*runningNode, error) {
	limits := filepath.Join(filepath.Dir(data), "limits.yaml")
	if err := os.WriteFile(limits, []byte(limitsText), 0o600); err != nil {
		return nil, err
	}
	args := slices.Concat(
		[]string{"serve", "--data", data, "--limits", limits, "--durability", string(d)}, onFreePorts, flags,
	)
	c, found, err := s.startJeton(ctx, filepath.Base(data), serving, args...)
	if err != nil {
		return nil, err
	}
	return &runningNode{child: c, grpc: found[1], http: found[2], gossip: found[3], redis: found[4]}, nil
}

// startJeton starts a node or a gateway, and returns when it says a line that matches.
func (s *Setup) startJeton(ctx context.Context, name string, ready *regexp.Regexp, args ...string) (*child, []string, error) {
	if s.Program == "" {
		return nil, nil, flagError("jeton", "the program jeton is neither beside jeton-bench nor in PATH: name its path")
	}
	return start(ctx, name, ready, s.Program, args...)
}

// startNoop starts the service that decides nothing, and returns its address.
func (s *Setup) startNoop(ctx context.Context, limitName string, deny bool) (*child, string, error) {
	args := []string{"noop-server", "--limit", limitName, fmt.Sprintf("--deny=%t", deny)}
	c, found, err := start(ctx, "the no-op", serving, s.Self, args...)
	if err != nil {
		return nil, "", err
	}
	return c, found[1], nil
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

// manyKeys is how many keys must share a load so that none of them is asked too much for minute.
const manyKeys = 50_000

// limitFor is the limit of a comparison.
func limitFor(deny bool) limit.Ref {
	if deny {
		return limit.Named(onceLimit)
	}
	return limit.Named(openLimit)
}

// limitOf is the limit of a comparison with that load, whose defaults are filled in.
func limitOf(l *Load, deny bool) limit.Ref {
	if !deny && l.Keys == Uniform && l.KeyCount >= manyKeys {
		return limit.Named(minuteLimit)
	}
	return limitFor(deny)
}
