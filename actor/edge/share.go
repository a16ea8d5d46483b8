package edge

import (
	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A bucketID finds a share.
type bucketID struct{ key, limit, plan string }

// shared is the bucket without the plan, which the plans of a limit share. Of one that is leased each has its own: a lease is spent by the numbers by which it was given.
func (id bucketID) shared(rule *limit.Rule) bucketID {
	if rule.Consistency != limit.Leased {
		id.plan = ""
	}
	return id
}

// A share is what the edge keeps of one bucket, with who waits for it.
type share struct {
	lease.Holding

	id       bucketID
	plan     string        // by which it began, and does not change unless the bucket is local; empty for none
	gone     bool          // it is forgotten
	answered chan struct{} // is closed when the open ask is answered; nil if nobody waits
}

// goesBy says whether the share goes by a rule, or by one that decides alike.
func (s *share) goesBy(rule *limit.Rule) bool { return s.Rule() == rule || s.Rule().Equal(rule) }

// under says whether the share can go on under a rule. A bucket that is local does under any of its register.
func (s *share) under(rule *limit.Rule) bool {
	if s.goesBy(rule) {
		return true
	}
	own, ok := s.Holding.(*lease.Own)
	if !ok || kindOf(rule) != ofEdge || s.Rule().Register() != rule.Register() {
		return false
	}
	own.Under(rule)
	return true
}

// succeed takes over what another share of the bucket has not reported, if it goes by another rule that is eventual, too.
func (s *share) succeed(before *share) {
	if before == nil {
		return
	}
	of, ok := s.Holding.(*lease.Counted)
	if old, was := before.Holding.(*lease.Counted); ok && was {
		of.Succeed(old)
	}
}

// report is that of so many tokens.
func (s *share) report(tokens int64) limit.Request {
	return limit.Request{Key: s.id.key, Plan: s.plan, Limits: []limit.Ref{limit.Named(s.id.limit)}, Cost: tokens, Charge: true}
}

// release wakes who waits for the share.
func (s *share) release() {
	if s.answered != nil {
		close(s.answered)
		s.answered = nil
	}
}

// A kind of buckets has room of its own: what the cluster can decide as well takes none of what only this edge does.
type kind uint8

const (
	ofOwners kind = iota
	ofEdge
	kinds
)

func kindOf(rule *limit.Rule) kind {
	if rule.Consistency == limit.OfEdge {
		return ofEdge
	}
	return ofOwners
}
