package actor

import (
	"context"
	"errors"
	"fmt"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/actor/owner"
	"github.com/jeton-dev/jeton/ring"
)

// Settle takes in what was used of a hold; see [limit.Settler].
func (s *System) Settle(ctx context.Context, settlement limit.Settlement) (limit.Settled, error) {
	if err := ctx.Err(); err != nil {
		return limit.Settled{}, err
	}
	c, st := s.newBundle(ctx, 1, nil), &settling{}
	m := &c.mail[0]
	if err := s.address(m, &settlement, &c.settles(1)[0], st); err != nil {
		s.bundles.free(c)
		return limit.Settled{}, err
	}
	if len(m.rules) == 0 {
		s.bundles.free(c)
		return st.answer(&settlement, nil)
	}
	s.shardOf(m).push(m)
	if err := c.wait(ctx); err != nil {
		return limit.Settled{}, err
	}
	err := c.single.Err
	s.bundles.free(c)
	return st.answer(&settlement, err)
}

// sortSettlements puts settlements, which are behind so many checks of a bundle, to the mail of their shards, or answers them.
func (s *System) sortSettlements(c *bundle, checks int, ss []limit.Settlement, all []settling) {
	rooms := c.settles(len(ss))
	for i := range ss {
		m := &c.mail[checks+i]
		err := s.address(m, &ss[i], &rooms[i], &all[i])
		switch {
		case err != nil:
			m.fail(err)
		case len(m.rules) == 0:
			m.pass(limit.Decision{})
		default:
			s.sort(m)
		}
	}
}

// address makes m the mail of a settlement, for the limits of its hold that are stored, or that the request has defined.
func (s *System) address(m *mail, settlement *limit.Settlement, room *settleRoom, st *settling) error {
	if err := settlement.Validate(); err != nil {
		return err
	}
	h := &settlement.Hold
	m.kind, m.key, m.hash, m.plan, m.other = settle, h.Key, ring.Hash(h.Key), h.Plan, &room.otherMail
	m.rules, room.settles, room.places, room.settling = m.one[:0], room.one[:0], room.place[:0], st
	if st.limits = st.one[:min(len(h.Limits), 1)]; len(h.Limits) > 1 {
		st.limits = make([]limit.SettledLimit, len(h.Limits))
	}
	return s.findHeld(m, settlement)
}

// findHeld finds the limits of a hold with their rules, by which it was taken. One that is not stored any more knows nothing of it.
func (s *System) findHeld(m *mail, settlement *limit.Settlement) error {
	doc, o := s.cfg.Limits(), m.other
	for i, held := range settlement.Hold.Limits {
		rule, err := doc.Resolve(held.Ref())
		if errors.Is(err, limit.ErrUnknownLimit) {
			o.settling.limits[i] = limit.SettledLimit{Name: held.Limit, State: limit.HoldUnknown}
			o.settling.removed = append(o.settling.removed, held.Limit)
			continue
		}
		if err != nil {
			return err
		}
		if rule.Inline {
			if err := s.allowsFill(rule); err != nil {
				return err
			}
			m.inline |= 1 << len(m.rules)
		}
		if settlement.For > 0 {
			if err := rule.AllowsHold(settlement.For); err != nil {
				return limit.InField("for", err)
			}
		}
		if m.plan != "" || doc.HasOverrides() {
			rule = doc.CauseOf(rule.Name, m.key, m.plan, s.cfg.Now).Rule(rule)
		}
		m.rules, o.places = append(m.rules, rule), append(o.places, i)
		o.settles = append(o.settles, owner.Settle{
			Rule: rule, Held: held, Granted: settlement.Hold.Granted, Used: settlement.Used, Open: settlement.Open, For: settlement.For.Nanoseconds(),
		})
	}
	return nil
}

// answer is what the settlement came to, once its mail is answered, with err if so.
func (st *settling) answer(s *limit.Settlement, err error) (limit.Settled, error) {
	if err != nil {
		return limit.Settled{}, err
	}
	sum := limit.SumSettled(st.limits)
	if !sum.Known() {
		return limit.Settled{}, st.unknownHold(s)
	}
	return sum, nil
}

// unknownHold names a hold that no limit knows, and those of its limits that are not stored any more.
func (st *settling) unknownHold(s *limit.Settlement) error {
	names, removed := make([]string, len(s.Hold.Limits)), st.removed
	for i := range names {
		names[i] = s.Hold.Limits[i].Limit
	}
	key := limit.Quote(s.Hold.Key)
	switch {
	case len(removed) == 0:
		return fmt.Errorf("%w, of key %s and limits %q", limit.ErrUnknownHold, key, names)
	case len(removed) < len(names):
		return fmt.Errorf("%w, of key %s and limits %q, of which %q are not stored any more", limit.ErrUnknownHold, key, names, removed)
	}
	return removedError(fmt.Sprintf("unknown hold: its limits %q are not stored any more, so this settlement charged nothing of key %s", names, key))
}

// A removedError is a [limit.ErrUnknownHold] whose limits are all gone.
type removedError string

// Error implements error.
func (e removedError) Error() string { return string(e) }

// Unwrap makes it a [limit.ErrUnknownHold].
func (removedError) Unwrap() error { return limit.ErrUnknownHold }
