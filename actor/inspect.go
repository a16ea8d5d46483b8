package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// Inspect tells the state of a bucket; see [limit.Inspector]. A limit that is not stored is found by its name alone if
// an actor of the key holds a bucket of it.
func (s *System) Inspect(ctx context.Context, key string, ref limit.Ref) (limit.Inspection, error) {
	if err := limit.ValidateKey(key); err != nil {
		return limit.Inspection{}, err
	}
	rule, err := s.cfg.Limits().Resolve(ref)
	if err != nil && !errors.Is(err, limit.ErrUnknownLimit) {
		return limit.Inspection{}, err
	}
	var (
		view    owner.View
		awake   bool
		waiting int
	)
	lerr := s.ask(ctx, &mail{kind: look, key: key, others: &others{looked: func(_ *shard, a *actor) {
		if a != nil {
			waiting = a.waiting()
			view, awake = a.owner.View(ref.Name, s.cfg.Now())
		}
	}}})
	switch {
	case lerr != nil:
		return limit.Inspection{}, lerr
	case rule == nil && !awake:
		return limit.Inspection{}, err
	case rule == nil:
		rule = view.Rule
	}
	partition := ring.PartitionOf(ring.Hash(key), s.cfg.Partitions)
	in := limit.Inspection{
		Key: key, Rule: rule, Now: s.cfg.Now(),
		Partition: int(partition), Epoch: storage.FirstEpoch, Owner: s.id, Node: s.cfg.Node,
		Awake: awake, Waiting: waiting,
	}
	known, err := s.readRegisters(ctx, &in, partition, ref.Name)
	if err != nil {
		return limit.Inspection{}, err
	}
	tat, credit := limit.At(known), limit.Pos{}
	if awake {
		tat = rule.Carry(view.Rule, view.TAT)
		if rule.Same(view.Rule) {
			credit = view.Credit
		}
		in.Generation = view.Generation
		in.Segment = limit.Span{Start: max(tat.Ceil(), 0), End: view.Hi}
		if in.Segment.Start >= in.Segment.End {
			in.Segment = limit.Span{}
		}
		in.Next = limit.Span{Start: view.Next[0], End: view.Next[1]}
		in.Credit = credit.NS
		in.Recent = view.Recent
		if view.Hi < in.Now {
			tat = limit.Later(tat, limit.At(known))
		}
	}
	in.TAT = tat.Ceil()
	in.Tokens = rule.Tokens(rule.Sub(tat, credit), in.Now)
	return in, nil
}

// readRegisters shows every replica's register, and returns the position from which on a majority would accept: all
// that an owner who is just waking could learn.
func (s *System) readRegisters(ctx context.Context, in *limit.Inspection, p ring.Partition, name string) (known int64, err error) {
	var free []int64
	for _, r := range s.cfg.Replicas {
		l, err := r.Look(ctx, p, in.Key, name)
		switch {
		case err != nil && ctx.Err() != nil:
			return 0, ctx.Err()
		case err != nil:
			return 0, fmt.Errorf("%w: look at a register: %w", limit.ErrUnavailable, err)
		}
		in.Registers = append(in.Registers, limit.Stored{
			Node: in.Node, Exists: l.Exists, Generation: l.Register.Generation, Reserved: l.Register.H,
			Floor: floor(l.Partition), Horizon: l.Partition.Horizon,
		})
		in.Generation = max(in.Generation, l.Register.Generation)
		free = append(free, l.Partition.Free(l.Register, l.Register.Generation, in.Rule.Reach(), s.cfg.Bounds))
	}
	slices.Sort(free)
	return free[len(free)/2], nil
}

func floor(p register.Partition) int64 {
	if p.Floored {
		return p.Floor
	}
	return 0
}
