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
	ByKnown   Source = "known"   // a denial of the cluster that still holds, known to this gateway
	ByLocal   Source = "local"   // local buckets of this gateway
	ByAllow   Source = "allow"   // admitted without a decision
	ByDeny    Source = "deny"    // denied without a decision
)

// OfCluster says whether the cluster has decided, now or a moment ago.
func (s Source) OfCluster() bool { return s == ByCluster || s == ByKnown }

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
	// Err is why the cluster did not decide; nil by ByCluster and ByKnown.
	Err error
	// MayWait is how long the check asked to wait at most: as long as the document says, and each limit allows.
	MayWait time.Duration
}
