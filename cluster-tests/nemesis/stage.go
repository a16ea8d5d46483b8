package nemesis

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/network"
	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/client"
)

// patience is how long the cluster may take to come back from a fault, on a machine that is busy. Only a cluster that does
// not come back at all meets it.
const patience = 5 * time.Minute

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

	mu       sync.Mutex
	hosts    []*host
	problems []string
}

// say writes a line for whoever watches.
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

// host is one of the nodes that founded the cluster, by its number from 0.
func (s *Stage) host(n int) *host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[n]
}

// members are all nodes that the cluster has, those that were added too.
func (s *Stage) members() (all []*host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		if _, retired := h.is(); !retired {
			all = append(all, h)
		}
	}
	return all
}

// adopt makes a host of a member that is planned.
func (s *Stage) adopt(m *process.Member) (*host, error) {
	h := &host{name: m.Name, stage: s, member: m, disk: filepath.Join(s.folder, "disks", m.Name), clock: filepath.Join(s.folder, "clocks", m.Name)}
	if err := h.prepareDisk(); err != nil {
		return nil, err
	}
	m.Data = filepath.Join(h.disk, "data")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = append(s.hosts, h)
	return h, nil
}

// back starts nodes that do not run, and returns when they serve.
func (s *Stage) back(ctx context.Context, hosts ...*host) error {
	for _, h := range hosts {
		if err := h.launch(); err != nil {
			return err
		}
	}
	return s.ready(ctx, hosts...)
}

// ready returns when the nodes serve.
func (s *Stage) ready(ctx context.Context, hosts ...*host) error {
	for _, h := range hosts {
		if _, retired := h.is(); retired {
			continue
		}
		if err := h.serving(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ask asks a node how the cluster is.
func (s *Stage) ask(ctx context.Context, h *host) (st cluster.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.member.HTTP+"/debug/ring?format=json", http.NoBody)
	if err != nil {
		return st, err
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	a, err := s.http.Do(r)
	if err != nil {
		return st, err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return st, fmt.Errorf("%s: %s", r.URL, a.Status)
	}
	err = json.NewDecoder(a.Body).Decode(&st)
	return st, err
}

// status asks all nodes in turn how the cluster is, until one knows.
func (s *Stage) status(ctx context.Context) (st cluster.Status, err error) {
	for _, h := range s.members() {
		if st, err = s.ask(ctx, h); err == nil && st.Leader != "" {
			return st, nil
		}
	}
	if err == nil {
		err = errors.New("no node knows a leader")
	}
	return st, err
}

// leader is the node that leads raft.
func (s *Stage) leader(ctx context.Context) (found *host, err error) {
	err = s.until(ctx, "a node leads raft", func(ctx context.Context) error {
		st, err := s.status(ctx)
		if err != nil {
			return err
		}
		for _, h := range s.members() {
			if h.name == st.Leader {
				found = h
				return nil
			}
		}
		return fmt.Errorf("%q leads, and is no node", st.Leader)
	})
	return found, err
}

// until tries again and again until there is no error, for as long as patience lasts.
func (s *Stage) until(ctx context.Context, what string, try func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := try(bounded)
		if err == nil {
			return nil
		}
		if pause(bounded, 200*time.Millisecond) != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("still not so after %v: %s: %w", patience, what, err)
		}
	}
}

// settled returns when nothing is moved, and the nodes that are named are alive and have their shares.
func (s *Stage) settled(ctx context.Context, names ...string) error {
	return s.until(ctx, fmt.Sprintf("%v share all partitions, and nothing is moved", names), func(ctx context.Context) error {
		st, err := s.status(ctx)
		if err != nil {
			return err
		}
		if st.Moves.Left > 0 {
			return fmt.Errorf("%d partitions are still to be moved: %+v", st.Moves.Left, st.Moves)
		}
		for _, name := range names {
			i := slices.IndexFunc(st.Nodes, func(n cluster.NodeStatus) bool { return n.Name == name })
			if i < 0 || !st.Nodes[i].Alive || st.Nodes[i].Replica == 0 {
				return fmt.Errorf("%s has no share yet: %+v", name, st.Nodes)
			}
		}
		return nil
	})
}

// pause waits. It is not for what can be waited for itself: it is the time that a fault lasts, or between two looks.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
