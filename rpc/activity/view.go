package activity

import (
	"time"

	"github.com/jeton-dev/jeton/ring/cluster/status"
)

// A Look is what all nodes told at one moment.
type Look struct {
	At    time.Time `json:"at"`
	Asked string    `json:"asked"` // the name of the node that has asked the others
	Nodes []Node    `json:"nodes"` // by name
	// Cluster is its status as that node sees it; nil for a node that is alone.
	Cluster *status.Status `json:"cluster,omitempty"`
}

// A View is what a cluster did between two looks, and how it is at the second one. All rates are per second.
type View struct {
	At    time.Time `json:"at"`
	Asked string    `json:"asked"`
	// Seconds is the time between the two looks. 0: there was only one, and all rates are 0.
	Seconds  float64        `json:"seconds"`
	Problems []Problem      `json:"problems"` // the worst first
	Total    Rates          `json:"total"`
	Limits   []LimitRates   `json:"limits"` // the busiest first
	Nodes    []NodeRates    `json:"nodes"`  // by name
	Keys     []Key          `json:"keys"`   // the busiest first
	Denied   []Key          `json:"denied"` // those with most denials first
	Gateways []GatewayRates `json:"gateways"`
	Cluster  *status.Status `json:"cluster,omitempty"`
}

// Rates are decisions per second, and how long they took. Of a View and of a node they are those of limits: a check of several limits counts at
// each of them. Of a gateway they are requests.
type Rates struct {
	Allowed float64 `json:"allowed"`
	Denied  float64 `json:"denied"`
	// FailedOpen are requests that gateways let pass without a decision, FailedClosed those that they refused for want of one; 0 of a node.
	FailedOpen   float64 `json:"failed_open"`
	FailedClosed float64 `json:"failed_closed"`
	// Errors are checks that nodes have answered with an error, over any protocol. Who asked may have got a decision from another node then: so one
	// may also count as failed open or closed, or as allowed or denied. 0 of a gateway.
	Errors float64 `json:"errors"`
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
}

// LimitRates are of one limit.
type LimitRates struct {
	Name         string  `json:"name"`
	Allowed      float64 `json:"allowed"`
	Denied       float64 `json:"denied"`
	FailedOpen   float64 `json:"failed_open"`   // checks that gateways let pass without a decision
	FailedClosed float64 `json:"failed_closed"` // checks that gateways refused for want of a decision
	Errors       float64 `json:"errors"`        // checks that nodes answered with an error: see [Rates]
	DeniedShare  float64 `json:"denied_share"`  // of its decisions, 0 to 1
	// Used is how full the fullest of its busy buckets is, 0 to 1; -1 where none is known.
	Used float64 `json:"used"`
}

// NodeRates are of one node.
type NodeRates struct {
	Name    string    `json:"name"`
	Error   string    `json:"error,omitempty"` // why it does not tell; its rates are 0 then
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	Rates
	FsyncP99     float64 `json:"fsync_p99_ms"`
	Awake        int     `json:"awake"`
	Dormant      int     `json:"dormant"`
	Waiting      int     `json:"waiting"`
	MemoryHeld   int64   `json:"memory_held"`
	MemoryBudget int64   `json:"memory_budget"`
	DiskUsed     int64   `json:"disk_used"`
	DiskFree     int64   `json:"disk_free"`
	Ready        string  `json:"ready,omitempty"`
}

// GatewayRates are of one gateway.
type GatewayRates struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	Admin   string    `json:"admin,omitempty"`
	Started time.Time `json:"started"`
	Rates
	Requests map[string]float64 `json:"requests"` // by outcome
	// Silent is for how many seconds it has told nothing, where that is longer than it should be; its rates are 0 then.
	Silent float64 `json:"silent_seconds,omitempty"`
}

// How bad a problem is.
const (
	Critical = "critical" // some checks are not decided
	Warning  = "warning"  // one more failure would do harm, or something is slow
	Notice   = "notice"   // nothing has to be done now
)

// A Problem is what is wrong now, in words.
type Problem struct {
	Severity string `json:"severity"`
	What     string `json:"what"` // what happened, to what
	Do       string `json:"do"`   // what to do
	Node     string `json:"node,omitempty"`
	// More is the heading of docs/operate.md or docs/when-it-fails.md that says more, as in "when-it-fails.md#a-node-runs-out-of-memory".
	More string `json:"more,omitempty"`
}

// node is what the same node told in another look; nil if it did not.
func (l *Look) node(n *Node) *Node {
	for i := range l.Nodes {
		if other := &l.Nodes[i]; other.Name == n.Name && other.ID == n.ID && other.Error == "" {
			return other
		}
	}
	return nil
}

// same is what the same process of a node told in an earlier look; nil if it did not.
func (l *Look) same(n *Node) *Node {
	if was := l.node(n); was != nil && was.Started.Equal(n.Started) {
		return was
	}
	return nil
}
