package nemesis

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/rpc/client"
)

// A Stage is the cluster on which the faults are played, the load on it, and what was noticed.
type Stage struct {
	t       *testing.T
	setting Setting
	folder  string // for what is needed while it runs
	cluster *process.Cluster
	lab     *network.Lab   // nil: all nodes are on loopback
	admin   *client.Client // asks what operators ask
	http    *http.Client
	traffic *traffic
	secure  *tls.Config // by which operators prove who they are; nil on loopback
	token   string      // that operators show over HTTP; empty on loopback
	began   time.Time
	watches sync.WaitGroup // one goroutine for each process
	tasks   chan func()    // for the goroutine of the test
	idle    []func()       // closes connections of callers

	callerHosts []string     // in the network
	invented    atomic.Int64 // keys
	operating   sync.Mutex   // held by an operator who changes what all agree on, and needs that it is not lost
	forgetful   sync.Map     // which nodes are started in memory mode, by name
	copiedAt    sync.Map     // when the disk of a node was copied last: name to time.Time

	edges    []*host // the gateways
	edgeWork edgeWork

	mu       sync.Mutex
	hosts    []*host // the nodes
	problems []string
}

// A host is a node or a gateway, running or not, and what is wanted of it.
type host struct {
	name    string
	stage   *Stage
	program program         // what it holds of its process is guarded by mu
	member  *process.Member // the program of a node; nil for a gateway
	disk    string          // the folder, or the mounted file system, that holds a node's data
	clock   string          // the file that says how wrong its clock is
	parting func()          // is called before the process is ended; nil for nothing

	mu      sync.Mutex
	life    int
	crashes int  // how often it has ended by itself
	wanted  bool // it is to run
	excused bool // it may end by itself: its disk is full
	retired bool // it was taken out of the cluster for ever
}

// A program is what a host runs, in one process after the other.
type program interface {
	// Begin starts a process, and does not wait.
	Begin() error
	// Serves asks it once whether it serves.
	Serves(ctx context.Context) bool
	// Exited is closed when the process has ended, and Log what it has said.
	Exited() <-chan struct{}
	Log() string

	Kill()
	Send(s syscall.Signal) error
	Terminate(ctx context.Context) (code int, err error)
}

// say writes a line to the output of the test.
func (s *Stage) say(format string, args ...any) {
	fmt.Fprintf(s.t.Output(), "%7.1f s  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

// problem notes something that must not be. The run goes on, and has failed.
func (s *Stage) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.say("PROBLEM: %s", text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, fmt.Sprintf("%.1f s: %s", time.Since(s.began).Seconds(), text))
}

// noticed are all problems so far.
func (s *Stage) noticed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}
