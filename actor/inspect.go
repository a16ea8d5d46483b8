package actor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// Inspect tells the state of a bucket; see [limit.Inspector]. A limit that is not stored is found by its name alone if
// an actor of the key holds a bucket of it. A register that cannot be read is shown as such; there is no Inspection only
// if what is known would come from the registers, and fewer than a majority can be read: an actor that holds no line knows no more.
// An override of the key counts before a plan.
func (s *System) Inspect(ctx context.Context, key string, ref limit.Ref, plan string) (limit.Inspection, error) {
	if err := limit.ValidateKey(key); err != nil {
		return limit.Inspection{}, err
	}
	partition := ring.PartitionOf(ring.Hash(key), s.cfg.Partitions)
	at := s.cfg.Placement(partition)
	if at == nil {
		return limit.Inspection{}, ErrMoved
	}
	rule, by, err := s.ruleOf(key, ref, plan)
	if err != nil && !errors.Is(err, limit.ErrUnknownLimit) {
		return limit.Inspection{}, err
	}
	l, lerr := s.lookIn(ctx, key, ref.Name, partition)
	switch {
	case lerr != nil:
		return limit.Inspection{}, lerr
	case rule == nil && (plan != "" || !l.awake):
		return limit.Inspection{}, err
	case rule == nil:
		rule = l.view.Rule
	case l.awake && l.view.Rule.Register() != rule.Register(): // the limit has changed, and no check has come since
		l.awake, l.view = false, owner.View{}
	}
	switch {
	case by.Override != nil:
		plan = ""
	case plan == "" && l.awake && ref.Inline == nil:
		if plan = s.cfg.Limits().PlanOf(l.view.Rule); plan != "" {
			rule = l.view.Rule
		}
	}
	in := limit.Inspection{
		Key: key, Plan: plan, Rule: rule, Now: s.cfg.Now(),
		Partition: int(partition), Epoch: at.Epoch, Owner: s.id, Node: s.cfg.Node,
		Awake: l.awake, Waiting: l.waiting, Late: 2 * s.cfg.Bounds.EpsMax,
	}
	if by.Override != nil {
		in.Override, in.Verdict, in.Until = by.Override.Text, by.Override.Verdict, by.Override.Until
	}
	known, sure, err := s.readRegisters(ctx, &in, at.Set, partition)
	switch {
	case ctx.Err() != nil:
		return limit.Inspection{}, ctx.Err()
	case !sure && !l.holds(in.Now):
		return limit.Inspection{}, fmt.Errorf("%w: too few registers can be read: %w", limit.ErrUnavailable, err)
	}
	l.show(&in, known)
	err = s.showPenalty(ctx, &in, l, at.Set, partition)
	switch {
	case in.Rule.MaxWait == 0:
	case in.Verdict == limit.Passes:
		in.Begins = in.Now
	case in.Verdict == limit.Denies, in.Closed > 0:
		in.Begins = 0
	}
	return in, err
}

// showPenalty shows whether a penalty closes the bucket: as the actor knows it, or else as replicas that can be read have it.
func (s *System) showPenalty(ctx context.Context, in *limit.Inspection, l *local, set *ReplicaSet, p ring.Partition) error {
	own := in.Rule.Penalties()
	if own == nil || l.awake && l.view.Penalties {
		in.Closed, in.Denied = l.view.Closed, l.view.Denied
		return nil
	}
	of := limit.Inspection{Key: in.Key, Rule: own, Owner: in.Owner, Late: in.Late}
	if _, sure, _ := s.readRegisters(ctx, &of, set, p); !sure { // what the actor knows is shown without
		return ctx.Err()
	}
	ledger, err := of.Counted()
	if err != nil {
		return fmt.Errorf("%w: %w", limit.ErrUnavailable, err)
	}
	if end, _ := ledger.ClosedUntil(); end > in.Now {
		in.Closed = end
	}
	return nil
}

// ruleOf is the rule by which a key's bucket is shown, and what has put it in the place of the limit's own.
func (s *System) ruleOf(key string, ref limit.Ref, plan string) (*limit.Rule, limit.Cause, error) {
	doc := s.cfg.Limits()
	rule, err := doc.Resolve(ref)
	if err == nil && plan != "" {
		err = doc.CheckPlan(plan, []limit.Ref{ref})
	}
	if err != nil || ref.Inline != nil {
		return rule, limit.Cause{}, err
	}
	by := doc.CauseOf(rule.Name, key, plan, s.cfg.Now)
	return by.Rule(rule), by, nil
}

// local is what this node's actor knows of a bucket.
type local struct {
	view    owner.View
	awake   bool // there is an actor that has the bucket, or the key is dormant and holds line of it
	waiting int
}

// holds says whether the actor knows by itself how full the bucket is: it has reserved line that is not past.
func (l *local) holds(now int64) bool {
	if l.awake && l.view.Rule.Counts() {
		return l.view.Hi > 0
	}
	return l.awake && l.view.Hi > l.view.Rule.Begin(now)
}

// lookIn looks in on a key's actor, or on what a dormant key holds. A key that has no actor gets none.
func (s *System) lookIn(ctx context.Context, key, name string, partition ring.Partition) (*local, error) {
	l := &local{}
	err := s.look(ctx, key, func(sh *shard, a *actor) {
		if a != nil {
			l.waiting = a.waiting()
			l.view, l.awake = a.owner.View(name, s.cfg.Now())
		} else if o, dormant := sh.peekRest(key, partition); dormant {
			l.view, l.awake = o.View(name, s.cfg.Now())
		}
	})
	if err != nil {
		return nil, err // the shard may yet look
	}
	return l, nil
}

// look calls f with the shard of a key, which is held meanwhile, and the key's actor, or nil if none is awake.
func (s *System) look(ctx context.Context, key string, f func(*shard, *actor)) error {
	m := &mail{kind: look, key: key, hash: ring.Hash(key)}
	sh := s.shardOf(m)
	m.other = &otherMail{look: func() { f(sh, sh.actors.find(m.hash, key)) }}
	return s.ask(ctx, m)
}

// show says how full the bucket is: as the actor knows it, or as one that is just waking could learn from registers of
// which a majority accepts from known on.
func (l *local) show(in *limit.Inspection, known int64) {
	rule, view := in.Rule, &l.view
	if rule.Counts() {
		l.showLedger(in, known)
		return
	}
	tat, credit := limit.At(known), limit.Pos{}
	kept := l.awake && rule.Capacity == view.Rule.Capacity && rule.Refill == view.Rule.Refill // what was returned; under other numbers it is given up
	if l.awake {
		tat = rule.Carry(view.Rule, view.TAT)
		if kept {
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
		l.showHolds(in, tat, credit)
		in.Leases = view.Leases
		if view.Hi < rule.Begin(in.Now) {
			tat = limit.Later(tat, limit.At(known))
		}
	}
	in.TAT = tat.Ceil()
	spent := rule.Sub(tat, credit)
	in.Tokens = rule.Tokens(spent, in.Now)
	begins := rule.Start(spent, in.Now, rule.Length(1))
	if kept && !tat.After(view.TAT) {
		begins = view.Begins
	}
	if rule.MaxWait > 0 && begins <= in.Now+int64(rule.MaxWait) {
		in.Begins = begins
	}
}

// showHolds shows the holds of a limit that spends a line, which is spent up to tat but for credit.
func (l *local) showHolds(in *limit.Inspection, tat, credit limit.Pos) {
	if in.Rule.Holds.Longest > 0 || l.view.Holds.Total > 0 {
		in.Holds, in.Debt = l.view.Holds, in.Rule.Owing(in.Rule.Sub(tat, credit), in.Now)
	}
}

// showLedger is show for a limit that counts entries. What the registers tell is in already.
func (l *local) showLedger(in *limit.Inspection, known int64) {
	if l.awake {
		in.Generation, in.Recent = l.view.Generation, l.view.Recent
		if l.holds(in.Now) {
			in.Ledger, in.Held = l.view.Ledger, l.view.Held
		}
	}
	if ledger, err := in.Counted(); err == nil && known <= in.Now+register.DefaultBounds().Slack() {
		in.ShowLedger(ledger)
	}
}

// lookFor is how long an inspection waits for a register.
const lookFor = time.Second

// A lookResult is what a look at one replica's register has brought.
type lookResult struct {
	looked storage.Looked
	err    error
}

// lookAll looks at every replica's register of a bucket, at all of them at once.
func (set *ReplicaSet) lookAll(ctx context.Context, p ring.Partition, key, name string) []lookResult {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	all := make([]lookResult, len(set.Replicas))
	var wait sync.WaitGroup
	for i, r := range set.Replicas {
		wait.Go(func() { all[i].looked, all[i].err = r.Look(ctx, p, key, name) })
	}
	wait.Wait()
	return all
}

// readRegisters shows every replica's register, and returns the position from which on a majority would accept: all
// that an owner who is just waking could learn. That needs a majority that can be read; sure says whether there was one.
func (s *System) readRegisters(
	ctx context.Context, in *limit.Inspection, set *ReplicaSet, p ring.Partition,
) (known int64, sure bool, err error) {
	var free []int64
	var version int64
	for i, l := range set.lookAll(ctx, p, in.Key, in.Rule.Register()) {
		stored := limit.Stored{Node: set.Names[i]}
		if l.err != nil {
			stored.Error = l.err.Error()
			err = errors.Join(err, fmt.Errorf("%s: %w", set.Names[i], l.err))
		} else {
			at, reg := l.looked.Partition, l.looked.Register
			stored.Epoch, stored.Sealed, stored.Floor, stored.Horizon = at.Epoch, at.Sealed, floor(at), at.Horizon
			stored.Exists, stored.Generation, stored.Reserved = l.looked.Exists, reg.Generation, reg.H
			in.Generation = max(in.Generation, reg.Generation)
			if reg.Version > version {
				version, in.Ledger = reg.Version, reg.Ledger
			}
			free = append(free, at.Free(reg, reg.Generation, in.Rule.Lead(), s.cfg.Bounds))
		}
		in.Registers = append(in.Registers, stored)
	}
	w := ring.Majority(len(set.Replicas))
	if len(free) < w {
		return 0, false, err
	}
	slices.Sort(free)
	return free[w-1], true, nil
}

func floor(p register.Partition) int64 {
	if p.Floored {
		return p.Floor
	}
	return 0
}
