package nemesis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/ring/cluster"
)

var kindResized = Kind{
	Name: "two added and removed", Weight: 1, Longest: 20 * time.Second, Recovery: 25 * time.Second, Operators: true,
	Draw: func(*Drawing) Fault { return &resized{} },
}

// resized is a cluster that grows by two nodes and shrinks again, while other faults go on.
type resized struct {
	added     []*host
	operating bool
}

func (f *resized) String() string {
	if len(f.added) == 0 {
		return "two nodes are added, and later drained and removed"
	}
	return f.added[0].name + " and " + f.added[1].name + " are added, and later drained and removed"
}

// Begin adds them, and returns when they have their shares.
func (f *resized) Begin(ctx context.Context, s *Stage) error {
	s.operating.Lock()
	f.operating = true
	for range 2 {
		h, err := s.plan()
		if err != nil {
			return err
		}
		f.added = append(f.added, h)
	}
	if err := s.back(ctx, f.added...); err != nil {
		return err
	}
	return s.settled(ctx, f.added[0].name, f.added[1].name)
}

// plan adds a node to those that there are, and does not start it.
func (s *Stage) plan() (*host, error) {
	var founders []string
	for _, h := range s.members()[:s.setting.Nodes] {
		founders = append(founders, h.member.Gossip)
	}
	m := s.cluster.Plan()
	m.Args("--join", strings.Join(founders, ","))
	return s.adopt(m)
}

// End drains and removes them.
func (f *resized) End(ctx context.Context, s *Stage) error {
	if f.operating {
		defer s.operating.Unlock()
	}
	for _, h := range f.added {
		err := s.until(ctx, h.name+" keeps nothing any more", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			left, err := s.admin.Drain(ctx, h.name, false)
			if err == nil && left > 0 {
				err = fmt.Errorf("%d partitions are left", left)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := h.stop(ctx); err != nil {
			return err
		}
		h.retire()
		if err := s.removed(ctx, h); err != nil {
			return err
		}
	}
	return s.settled(ctx)
}

// removed takes a node out of the cluster. Whether an attempt whose answer was lost has done it, the status tells.
func (s *Stage) removed(ctx context.Context, h *host) error {
	return s.until(ctx, h.name+" is no member any more", func(ctx context.Context) error {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err := s.admin.Remove(once, h.name, false)
		if err == nil {
			return nil
		}
		st, unknown := s.status(ctx)
		if unknown == nil && !slices.ContainsFunc(st.Nodes, func(n cluster.NodeStatus) bool { return n.Name == h.name }) {
			return nil
		}
		return err
	})
}
