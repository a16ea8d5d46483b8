package edge

import (
	"github.com/jeton-dev/jeton/actor/lease"
	"github.com/jeton-dev/jeton/actor/limit"
)

// A bucketID finds a share.
type bucketID struct{ key, limit, plan string }

// shared is the bucket without the plan, which the plans of a limit share. Of one that is leased, also if only while its key is hot, each has its own: a lease is spent by the numbers by which it was given.
func (id bucketID) shared(rule *limit.Rule) bucketID {
	if !leases(rule) {
		id.plan = ""
	}
	return id
}

// leases says whether what an edge has of a bucket of rule is a lease.
func leases(rule *limit.Rule) bool { return rule.Consistency == limit.Leased || rule.LeasedWhenHot() }

// A share is what the edge keeps of one bucket, with who waits for it.
type share struct {
	lease.Holding

	id       bucketID
	tag      uint64        // of the edge as which it reports: after a jump of the clock, by which reports are numbered, the edge is another one to owners
	plan     string        // of the check that was last; empty for none
	gone     bool          // it is forgotten
	answered chan struct{} // is closed when the open ask is answered; nil if nobody waits
}

// asks is the bucket, with the plan by whose numbers the share asks and reports now.
func (s *share) asks() bucketID {
	id := s.id
	id.plan = s.plan
	return id
}

// goesBy says whether the share goes by a rule, or by one that decides alike.
func (s *share) goesBy(rule *limit.Rule) bool { return s.Rule() == rule || s.Rule().Equal(rule) }

// under says whether the share can go on under a rule. What was spent of a bucket that is local or eventual stays spent under any rule of its register.
func (s *share) under(rule *limit.Rule) bool {
	if s.goesBy(rule) {
		return true
	}
	of, ok := s.Holding.(interface{ Under(rule *limit.Rule) })
	if !ok || rule.Consistency != s.Rule().Consistency || rule.Register() != s.Rule().Register() {
		return false
	}
	of.Under(rule)
	return true
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
