package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/network"
)

// networkKinds are the faults of the network between nodes, and between nodes and callers.
func networkKinds() []Kind {
	k := func(name string, weight int, draw func(*Drawing) Fault) Kind {
		return Kind{
			Name: name, Weight: weight, Shortest: 500 * time.Millisecond, Longest: 15 * time.Second, Recovery: 3 * time.Second,
			Needs: func(s Setting) string {
				if !s.Network {
					return "the nodes have no network of their own"
				}
				return ""
			},
			Draw: draw,
		}
	}
	all := []Kind{
		k("minority cut off", 2, func(d *Drawing) Fault { return &cutOff{node: d.one(), callers: true} }),
		k("cut off from the replicas only", 2, func(d *Drawing) Fault { return &cutOff{node: d.one()} }),
		k("cut off one way: nothing it sends arrives", 1, func(d *Drawing) Fault { return &oneWay{node: d.one()} }),
		k("cut off one way: nothing arrives at it", 1, func(d *Drawing) Fault { return &oneWay{node: d.one(), deaf: true} }),
		k("TCP cut while UDP lives", 1, func(d *Drawing) Fault { return &noTCP{node: d.one()} }),
		k("leader cut off", 1, func(*Drawing) Fault { return &cutOff{leads: true, callers: true} }),
		k("two nodes cut from each other", 1, func(d *Drawing) Fault {
			two := d.some(2)
			return &linkCut{a: two[0], b: two[1]}
		}),
		k("all cut off from each other", 1, func(*Drawing) Fault { return &allCut{} }),
	}
	all[len(all)-1].Majority = true
	return all
}

// cuts are pairs of hosts between which something is cut.
type cuts struct{ pairs [][2]string }

// make cuts all pairs of some and others.
func (c *cuts) make(ctx context.Context, s *Stage, some, others []string, cut func(l *network.Lab, a, b string)) error {
	return s.onNetwork(ctx, func(l *network.Lab) {
		for _, a := range some {
			for _, b := range others {
				if a != b {
					cut(l, a, b)
					c.pairs = append(c.pairs, [2]string{a, b})
				}
			}
		}
	})
}

// mend mends them.
func (c *cuts) mend(ctx context.Context, s *Stage) error {
	return s.onNetwork(ctx, func(l *network.Lab) {
		for _, p := range c.pairs {
			l.Mend(p[0], p[1])
		}
	})
}

// End mends them, and waits until all nodes serve.
func (c *cuts) End(ctx context.Context, s *Stage) error {
	if err := c.mend(ctx, s); err != nil {
		return err
	}
	return s.ready(ctx, s.members()...)
}

// cutOff is one node that reaches no other one, and that no caller reaches either if callers is set.
type cutOff struct {
	cuts

	node    int
	leads   bool // it is the one that leads raft
	name    string
	callers bool
}

func (f *cutOff) String() string {
	who := f.name
	if who == "" {
		if who = names(f.node); f.leads {
			who = "the node that leads raft"
		}
	} else if f.leads {
		who = "the node that leads raft, " + who + ","
	}
	if f.callers {
		return who + " is cut off from nodes and callers"
	}
	return who + " is cut off from the other nodes, and not from callers"
}

// Begin cuts it off.
func (f *cutOff) Begin(ctx context.Context, s *Stage) error {
	f.name = names(f.node)
	if f.leads {
		h, err := s.leader(ctx)
		if err != nil {
			return err
		}
		f.name = h.name
	}
	others := s.nodeNames()
	if f.callers {
		others = append(others, s.callerHosts...)
	}
	return f.make(ctx, s, []string{f.name}, others, (*network.Lab).Cut)
}

// oneWay is a node whose packets do not arrive, or who gets none from other nodes.
type oneWay struct {
	cuts

	node int
	deaf bool
}

func (f *oneWay) String() string {
	if f.deaf {
		return names(f.node) + " hears no other node, and is heard"
	}
	return names(f.node) + " hears the other nodes, and is heard by none"
}

// Begin cuts one direction.
func (f *oneWay) Begin(ctx context.Context, s *Stage) error {
	return f.make(ctx, s, []string{names(f.node)}, s.nodeNames(), func(l *network.Lab, a, b string) {
		if f.deaf {
			a, b = b, a
		}
		l.CutOneWay(a, b)
	})
}

// noTCP is a node whose datagrams arrive, and nothing else: gossip takes it for alive.
type noTCP struct {
	cuts

	node int
}

func (f *noTCP) String() string { return "TCP of " + names(f.node) + " is cut, and UDP lives" }

// Begin cuts it.
func (f *noTCP) Begin(ctx context.Context, s *Stage) error {
	return f.make(ctx, s, []string{names(f.node)}, s.nodeNames(), (*network.Lab).CutTCP)
}

// linkCut are two nodes that do not reach each other, while all others reach both.
type linkCut struct {
	cuts

	a, b int
}

func (f *linkCut) String() string {
	return fmt.Sprintf("%s and %s are cut off from each other", names(f.a), names(f.b))
}

// Begin cuts them off.
func (f *linkCut) Begin(ctx context.Context, s *Stage) error {
	return f.make(ctx, s, []string{names(f.a)}, []string{names(f.b)}, (*network.Lab).Cut)
}

// allCut are all nodes, each of which is alone with its callers.
type allCut struct{ cuts }

func (f *allCut) String() string {
	return "all nodes are cut off from each other, and not from callers"
}

// Begin cuts them off.
func (f *allCut) Begin(ctx context.Context, s *Stage) error {
	return f.make(ctx, s, s.nodeNames(), s.nodeNames(), (*network.Lab).Cut)
}

// onNetwork changes the network, in the goroutine of the test, which alone may.
func (s *Stage) onNetwork(ctx context.Context, change func(l *network.Lab)) error {
	done := make(chan struct{})
	task := func() {
		defer close(done)
		change(s.lab)
	}
	select {
	case s.tasks <- task:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
