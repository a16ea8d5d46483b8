package nemesis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/rpc/client"
)

var kindRecovered = Kind{
	Name: "majority lost and recovered", Weight: 1, Longest: 3 * time.Second, Recovery: 15 * time.Second, Majority: true,
	Draw: func(d *Drawing) Fault {
		if d.minority() > 1 {
			return nil // another lane would take the node that is left
		}
		return &recovered{left: d.one()}
	},
}

// recovered is a cluster that loses all nodes but one, with their disks. An operator recovers it at the one that is left, and
// the others come back as new ones.
type recovered struct {
	left      int
	lost      []*host
	operating bool
}

func (f *recovered) String() string {
	return "all nodes but " + names(f.left) + " are lost with their disks, and the cluster is recovered there"
}

// Begin loses them, and recovers the cluster. No other operator is at work then: what was agreed last may be lost.
func (f *recovered) Begin(ctx context.Context, s *Stage) error {
	s.operating.Lock()
	f.operating = true
	if err := s.settled(ctx, s.nodeNames()...); err != nil {
		return err
	}
	left := s.host(f.left)
	var lost []string
	for _, h := range s.members() {
		if h != left {
			f.lost, lost = append(f.lost, h), append(lost, h.name)
		}
	}
	for _, h := range f.lost {
		if err := h.kill(); err != nil {
			return err
		}
		if err := h.wipe(); err != nil {
			return err
		}
	}
	operator, err := client.New(client.Config{Servers: []string{left.member.GRPC}, TLS: s.secure})
	if err != nil {
		return err
	}
	defer operator.Close() //nolint:errcheck // nothing is asked any more
	err = s.until(ctx, "the cluster is recovered at "+left.name, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		done, err := operator.Recover(ctx, lost)
		if err == nil {
			s.say("%s has recovered the cluster without %s: %d partitions have a floor, %d are moved", left.name, strings.Join(lost, " and "),
				done.Floored, done.Moved)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	return s.ready(ctx, left)
}

// End starts the others on empty disks.
func (f *recovered) End(ctx context.Context, s *Stage) error {
	if f.operating {
		defer s.operating.Unlock()
	}
	if err := s.back(ctx, f.lost...); err != nil {
		return err
	}
	return s.settled(ctx, s.nodeNames()...)
}
