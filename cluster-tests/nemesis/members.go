package nemesis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/process"
	"github.com/jeton-dev/jeton/ring/cluster"
)

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
	h := &host{name: m.Name, stage: s, program: m, member: m, disk: filepath.Join(s.folder, "disks", m.Name), clock: filepath.Join(s.folder, "clocks", m.Name)}
	if err := h.prepareDisk(); err != nil {
		return nil, err
	}
	m.Data = filepath.Join(h.disk, "data")
	m.Args("--listen-redis", m.Redis, "--redis-token-file", s.redisTokenFile())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = append(s.hosts, h)
	return h, nil
}

// nodeNames are those of all nodes that the cluster has.
func (s *Stage) nodeNames() (all []string) {
	for _, h := range s.members() {
		all = append(all, h.name)
	}
	return all
}

// back starts hosts that do not run, and returns when they serve.
func (s *Stage) back(ctx context.Context, hosts ...*host) error {
	for _, h := range hosts {
		if err := h.launch(); err != nil {
			return err
		}
	}
	return s.ready(ctx, hosts...)
}

// ready returns when the hosts serve.
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
	err = s.read(ctx, h, "/debug/ring?format=json", &st)
	return st, err
}

// read reads a page of a node.
func (s *Stage) read(ctx context.Context, h *host, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+h.member.HTTP+path, http.NoBody)
	if err != nil {
		return err
	}
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	a, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", r.URL, a.Status)
	}
	return json.NewDecoder(a.Body).Decode(into)
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
