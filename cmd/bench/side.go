package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jeton-dev/jeton/storage"
)

// A side is one of the two that are compared: processes, and how they are asked.
type side struct {
	name     string
	children children
	service  service
}

// close ends the side. It may be called on a side that was never opened.
func (s *side) close() error {
	if s == nil {
		return nil
	}
	err := s.service.close()
	s.children.stop()
	return err
}

// A dialer makes a service of the servers at those addresses.
type dialer func(ctx context.Context, servers []string, l Load, cpu func() time.Duration) (service, error)

// over makes a side of servers that were started. They are ended if it cannot be had.
func (d dialer) over(ctx context.Context, name string, c children, servers []string, l Load) (*side, error) {
	service, err := d(ctx, servers, l, c.cpu)
	if err != nil {
		c.stop()
		return nil, err
	}
	return &side{name: name, children: c, service: service}, nil
}

// nodeSide starts a node as a side, with its data in that folder, which is to be removed after it is closed.
func (s *Setup) nodeSide(ctx context.Context, dial dialer, name, data string, d storage.Durability, l Load) (*side, error) {
	n, err := s.startNode(ctx, data, d)
	if err != nil {
		return nil, err
	}
	return dial.over(ctx, name, children{n.child}, []string{n.grpc}, l)
}

// clusterSide starts a cluster as a side, with its data below a folder, which is to be removed after it is closed.
func (s *Setup) clusterSide(ctx context.Context, folder string, nodes int, d storage.Durability, l Load) (*side, error) {
	c, err := s.startCluster(ctx, folder, nodes, d)
	if err != nil {
		return nil, err
	}
	return dialer(dialClient).over(ctx, "cluster", c.children(), c.servers(), l)
}

func (s *Setup) noopSide(ctx context.Context, dial dialer, l Load) (*side, error) {
	c, address, err := s.startNoop(ctx, l.Limit.Name, l.Limit.Name == onceLimit)
	if err != nil {
		return nil, err
	}
	return dial.over(ctx, "no-op", children{c}, []string{address}, l)
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
		return r, errors.Join(fmt.Errorf("the %s: %w", s.name, err), s.children.alive())
	}
	return r, nil
}
