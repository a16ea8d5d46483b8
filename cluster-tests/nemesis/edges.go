package nemesis

import (
	"context"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/cluster-tests/network"
)

// gatewayKinds are the faults of gateways. What they hold of leased limits when they die, freeze or are cut off is lost or late, and never too much.
func gatewayKinds() []Kind {
	k := func(name string, weight int, shortest, longest time.Duration, draw func(*Drawing) Fault) Kind {
		return Kind{
			Name: name, Weight: weight, Shortest: shortest, Longest: longest, Recovery: time.Second, Gateways: true,
			Needs: func(s Setting) string {
				if s.Gateways == 0 {
					return "there are no gateways"
				}
				return ""
			},
			Draw: draw,
		}
	}
	one := func(d *Drawing) victims { return victims{gateways: true, numbers: []int{d.IntN(d.Gateways)}} }
	every := victims{gateways: true, all: true}
	all := []Kind{
		k("gateway killed", 3, 0, 5*time.Second, func(d *Drawing) Fault { return manyKilled{one(d)} }),
		k("all gateways killed", 1, 0, 3*time.Second, func(*Drawing) Fault { return manyKilled{every} }),
		k("gateway restarted", 1, 0, 3*time.Second, func(d *Drawing) Fault { return restarted{one(d)} }),
		k("gateway clock wrong", 2, time.Second, 10*time.Second, func(d *Drawing) Fault {
			return gatewayClock{gateway: d.IntN(d.Gateways), offset: wrongBy(d)}
		}),
		k("gateway frozen", 3, 100*time.Millisecond, longerThanALease, func(d *Drawing) Fault { return frozen{one(d)} }),
		k("all gateways frozen", 1, 100*time.Millisecond, longerThanALease, func(*Drawing) Fault { return frozen{every} }),
	}
	for i := range all[:4] { // what a gateway has taken for a check that it did not answer, that check's failure tells
		all[i].Harmless = true
	}
	for _, cut := range []Kind{
		k("gateway cut off", 2, 500*time.Millisecond, longerThanALease, func(d *Drawing) Fault { return &gatewayCut{gateway: d.IntN(d.Gateways)} }),
		k("gateway cut off one way", 2, 500*time.Millisecond, longerThanALease, func(d *Drawing) Fault {
			return &gatewayCut{gateway: d.IntN(d.Gateways), oneWay: true, deaf: d.IntN(2) == 0}
		}),
	} {
		there := cut.Needs
		cut.Needs = func(s Setting) string {
			if why := there(s); why != "" || s.Network {
				return why
			}
			return "the nodes have no network of their own"
		}
		all = append(all, cut)
	}
	return all
}

// longerThanALease is how long a gateway may be frozen or cut off: no lease lasts longer than ten seconds.
const longerThanALease = 14 * time.Second

// wrongBy draws how wrong the clock of a gateway is: further off than owners lease to, or nearly as far as they do.
func wrongBy(d *Drawing) time.Duration {
	far, near := d.scale(10*time.Second), 200*time.Millisecond
	return []time.Duration{far, -far, near, -near}[d.IntN(4)]
}

// gatewayClock is a gateway whose clock is set, and set right again: it drops what it holds each time.
type gatewayClock struct {
	gateway int
	offset  time.Duration
}

func (f gatewayClock) String() string {
	return fmt.Sprintf("the clock of %s jumps by %+.1f s", gatewayNames(f.gateway), f.offset.Seconds())
}

// Begin makes the clock wrong.
func (f gatewayClock) Begin(_ context.Context, s *Stage) error {
	return s.edges[f.gateway].setClock(f.offset, 0)
}

// End makes it right.
func (f gatewayClock) End(ctx context.Context, s *Stage) error {
	h := s.edges[f.gateway]
	if err := h.rightClock(); err != nil {
		return err
	}
	return s.ready(ctx, h)
}

// gatewayCut is a gateway that callers reach, and that reaches no node: or one way only.
type gatewayCut struct {
	cuts

	gateway      int
	oneWay, deaf bool
}

func (f *gatewayCut) String() string {
	who := gatewayNames(f.gateway)
	switch {
	case !f.oneWay:
		return who + " is cut off from the nodes, and not from callers"
	case f.deaf:
		return who + " is heard by the nodes, and hears none"
	}
	return who + " hears the nodes, and is heard by none"
}

// Begin cuts it off from all nodes that there are.
func (f *gatewayCut) Begin(ctx context.Context, s *Stage) error {
	return f.make(ctx, s, []string{gatewayNames(f.gateway)}, s.nodeNames(), func(l *network.Lab, gateway, node string) {
		switch {
		case !f.oneWay:
			l.Cut(gateway, node)
		case f.deaf:
			l.CutOneWay(node, gateway)
		default:
			l.CutOneWay(gateway, node)
		}
	})
}

// End mends it.
func (f *gatewayCut) End(ctx context.Context, s *Stage) error {
	if err := f.mend(ctx, s); err != nil {
		return err
	}
	return s.ready(ctx, s.edges[f.gateway])
}
