package fallback

import (
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

// Source says what decided a check: the cluster, or what replaced its decision.
type Source string

// The sources.
const (
	ByCluster Source = "cluster" // a decision of the cluster
	ByEdge    Source = "edge"    // a decision of this gateway itself, as the consistency of the limits has it
	ByKnown   Source = "known"   // a denial of the cluster that still holds, known to this gateway
	ByLocal   Source = "local"   // local buckets of this gateway
	ByAllow   Source = "allow"   // admitted without a decision
	ByDeny    Source = "deny"    // denied without a decision
)

// Decided says whether there is a decision by the limits as they are: of the cluster, now or a moment ago, or of this gateway where they leave it to that.
func (s Source) Decided() bool { return s == ByCluster || s == ByKnown || s == ByEdge }

// Own says whether this gateway has decided by limits without asking a node.
func (s Source) Own() bool { return s == ByEdge || s == ByKnown || s == ByLocal }

// decider is who has decided r. The Checker names no node where it has not asked one, which it may do for limits that leave it to edges.
func decider(r *limit.Request, d *limit.Decision, stored *limit.Document) Source {
	if d.Node != "" || stored == nil {
		return ByCluster
	}
	for _, ref := range r.Limits {
		if rule, ok := stored.Rule(ref.Name); ok && ref.Inline == nil && rule.Decentral() {
			return ByEdge
		}
	}
	return ByCluster
}

// A Verdict says what happens to a check.
type Verdict struct {
	// Decision is the cluster's, or what replaces it. With ByAllow and ByDeny it has no outcomes, since something is not known. With
	// ByLocal, its outcomes are those of this gateway's part of each limit. It has receipts of what the Checker has decided, which may be a part of the limits.
	limit.Decision
	Source Source
	// Since is when the denial came from the cluster that is known; zero for all but ByKnown.
	Since time.Time
	// Repeated is how many times the denial before this one was repeated, ByKnown, of the same request; 0 for all but denials by the cluster.
	Repeated int64
	// Err is why the cluster did not decide; nil by ByCluster, ByEdge and ByKnown.
	Err error
	// MayWait is how long the check asked to wait at most: as long as the document says, and each limit allows.
	MayWait time.Duration
}
