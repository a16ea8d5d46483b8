package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/nodes"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// operate calls a method of the Admin service at any node that can be reached, the servers first. Which node does not
// matter: one that cannot answer itself knows which can.
func operate[In, Out any](ctx context.Context, c *Client, in In, method func(pb.AdminClient, context.Context, In, ...grpc.CallOption) (Out, error)) (Out, error) {
	return nodes.Anywhere(ctx, c.known(), func(ctx context.Context, n *nodes.Node) (Out, error) {
		shown, err := c.showToken(n)
		if err != nil {
			return *new(Out), err
		}
		out, err := method(pb.NewAdminClient(n.Conn()), ctx, in, shown...)
		return out, pb.DecodeError(err)
	})
}

// StoredLimits asks for the stored limits. See [Client.Limits] for those that the client has heard of.
func (c *Client) StoredLimits(ctx context.Context) (*limit.Document, error) {
	m, err := operate(ctx, c, &pb.LimitsRequest{}, pb.AdminClient.Limits)
	if err != nil {
		return nil, err
	}
	return limit.ParseDocument([]byte(m.GetDocument()))
}

// LimitsText asks for the stored limits as the cluster keeps them, a document in YAML, and for their version.
func (c *Client) LimitsText(ctx context.Context) (document string, version uint64, err error) {
	m, err := operate(ctx, c, &pb.LimitsRequest{}, pb.AdminClient.Limits)
	return m.GetDocument(), m.GetVersion(), err
}

// Apply is how ApplyLimits puts limits in force.
type Apply struct {
	// Document is the limits document, in YAML. Required.
	Document string
	// Version is the one that is to be replaced; 0 is any.
	Version uint64
	// Remove says that limits that the document leaves out are to be removed. Without it such a document is refused.
	Remove bool
	// DryRun only says what would change.
	DryRun bool
	// Rollback brings back the document of this version, which the cluster's history has; then there is no Document. 0 is none.
	Rollback uint64
}

// An Applied is what ApplyLimits changed, or would change.
type Applied struct {
	Version uint64 // that is in force now
	limit.Changes
	Used   []LimitUse // those of Removed that decided a check within the last hour
	Silent []string   // nodes that have not said which limits they used
}

// A LimitUse says how long ago a limit decided last.
type LimitUse struct {
	Limit string
	Ago   time.Duration
}

// ApplyLimits puts a limits document in force, whole or not at all. Should a node break off after it has applied it, the next
// one is asked, and may find that another version is in force: the very one.
func (c *Client) ApplyLimits(ctx context.Context, a Apply) (Applied, error) {
	m, err := operate(ctx, c, &pb.ApplyLimitsRequest{
		Document: a.Document, Version: a.Version, Remove: a.Remove, DryRun: a.DryRun, Rollback: a.Rollback,
	}, pb.AdminClient.ApplyLimits)
	if err != nil {
		return Applied{}, err
	}
	return appliedOf(m), nil
}

// appliedOf is the answer of a node.
func appliedOf(m *pb.ApplyLimitsResponse) Applied {
	out := Applied{
		Version: m.GetVersion(), Silent: m.GetSilent(),
		Changes: limit.Changes{Added: m.GetAdded(), Changed: m.GetChanged(), Removed: m.GetRemoved()},
	}
	for _, f := range m.GetChanges() {
		out.Fields = append(out.Fields, limit.FieldChange{Limit: f.GetLimit(), Field: f.GetField(), Before: f.GetBefore(), After: f.GetAfter()})
	}
	for _, e := range m.GetEffects() {
		out.Effects = append(out.Effects, limit.Effect{Limit: e.GetLimit(), Text: e.GetText()})
	}
	for _, u := range m.GetUsed() {
		out.Used = append(out.Used, LimitUse{u.GetLimit(), time.Duration(u.GetAgoNs())})
	}
	return out
}

// Status asks how the cluster is. The answer is JSON, as GET /debug/ring has it.
func (c *Client) Status(ctx context.Context) ([]byte, error) {
	m, err := operate(ctx, c, &pb.StatusRequest{}, pb.AdminClient.Status)
	return m.GetStatus(), err
}

// Activity asks what all nodes are doing. The answer is JSON; package activity reads it, and makes rates of two such answers.
func (c *Client) Activity(ctx context.Context) ([]byte, error) {
	m, err := operate(ctx, c, &pb.ActivityRequest{}, pb.AdminClient.Activity)
	return m.GetActivity(), err
}

// Probe has every node try to reach each other one. The answer is JSON, a list of what ring/cluster/status calls a Probed. It takes about three
// seconds where some do not. The error is ErrOlderNode where the node that was asked does not know the call.
func (c *Client) Probe(ctx context.Context) ([]byte, error) {
	m, err := operate(ctx, c, &pb.ProbeRequest{}, pb.AdminClient.Probe)
	if status.Code(err) == codes.Unimplemented {
		err = ErrOlderNode
	}
	return m.GetProbes(), err
}

// KeysAsked is a search for keys.
type KeysAsked struct {
	Prefix string // a whole key, or how keys begin; empty: all
	Limit  string // only keys with a bucket in memory of this limit; empty: all
	Most   int    // how many; 0: 100, and never more than 1,000
}

// Keys searches the keys that are in memory on any node. The answer is JSON, which package activity reads.
func (c *Client) Keys(ctx context.Context, q KeysAsked) ([]byte, error) {
	m, err := operate(ctx, c, &pb.KeysRequest{Prefix: q.Prefix, Limit: q.Limit, Most: uint32(max(0, min(q.Most, math.MaxInt32)))}, pb.AdminClient.Keys)
	return m.GetKeys(), err
}

// Audit asks what operators have done: the newest entries, or with 0 all that are kept. The answer is JSON, as GET /v1/audit has it.
func (c *Client) Audit(ctx context.Context, last int) ([]byte, error) {
	m, err := operate(ctx, c, &pb.AuditRequest{Last: uint32(last)}, pb.AdminClient.Audit)
	return m.GetAudit(), err
}

// LimitsHistory asks for the last versions of the limits, or, for a version other than 0, for that one with its document. The answer is
// JSON, as GET /v1/limits/history has it.
func (c *Client) LimitsHistory(ctx context.Context, version uint64) ([]byte, error) {
	m, err := operate(ctx, c, &pb.LimitsHistoryRequest{Version: version}, pb.AdminClient.LimitsHistory)
	return m.GetHistory(), err
}

// Fill fills a bucket of a stored limit, after the audit log has it. Programs use Reset.
func (c *Client) Fill(ctx context.Context, name, key string) error {
	_, err := operate(ctx, c, &pb.FillRequest{Limit: name, Key: key}, pb.AdminClient.Fill)
	return err
}

// An Override gives a key something else than a limit says: see SetOverride.
type Override struct {
	Limit string // the name of a stored limit
	Key   string // a key, or, where it ends in *, the beginning of keys
	// Says is "deny", "allow", or fields of the limit with other values, as in "capacity: 10, refill: 5/s".
	Says string
	For  time.Duration // after which it ends; 0 is never
}

// SetOverride sets an override, in the place of the one of the same limit and key.
func (c *Client) SetOverride(ctx context.Context, o Override) error {
	_, err := operate(ctx, c, &pb.SetOverrideRequest{Limit: o.Limit, Key: o.Key, Says: o.Says, ForNs: int64(o.For)}, pb.AdminClient.SetOverride)
	return err
}

// UnsetOverride takes the override of a limit and key away, if it says that, or whatever it says where says is empty. was is whether
// there was one.
func (c *Client) UnsetOverride(ctx context.Context, name, key, says string) (was bool, err error) {
	m, err := operate(ctx, c, &pb.UnsetOverrideRequest{Limit: name, Key: key, Says: says}, pb.AdminClient.UnsetOverride)
	return m.GetWas(), err
}

// Overrides asks for the overrides in force, of one limit or, where the name is empty, of all, page by page until it has all. The answer
// is a list in JSON, of what GET /v1/overrides has as overrides. What changes meanwhile may be missing.
func (c *Client) Overrides(ctx context.Context, name string) ([]byte, error) {
	all := []json.RawMessage{}
	for after := ""; ; {
		m, err := operate(ctx, c, &pb.OverridesRequest{Limit: name, After: after}, pb.AdminClient.Overrides)
		if err != nil {
			return nil, err
		}
		var page []json.RawMessage
		if err := json.Unmarshal(m.GetOverrides(), &page); err != nil {
			return nil, fmt.Errorf("the node speaks another version of jeton: %w", err)
		}
		all = append(all, page...)
		if after = m.GetNext(); after == "" {
			return json.Marshal(all)
		}
	}
}

// ErrUnknownNode means that no node of the cluster has the name or the id that was given.
var ErrUnknownNode = errors.New("unknown node")

// An unknownNodeError is [ErrUnknownNode] in the words of the node that was asked.
type unknownNodeError struct{ error }

func (e unknownNodeError) Is(target error) bool { return target == ErrUnknownNode }

// ofNode is the error of a call that names a node. What is not found then is the node: gRPC has one code for whatever that is.
func ofNode(err error) error {
	if errors.Is(err, limit.ErrUnknownLimit) {
		return unknownNodeError{err}
	}
	return err
}

// Drain moves every partition off a node, which is named by its name or its id, or takes that back. It does not wait for
// the moves, but says how many partitions the node still has.
func (c *Client) Drain(ctx context.Context, name string, undo bool) (left int, err error) {
	m, err := operate(ctx, c, &pb.DrainRequest{Node: name, Undo: undo}, pb.AdminClient.Drain)
	return int(m.GetLeft()), ofNode(err)
}

// Remove takes a node, which is named by its name or its id, out of the cluster for ever. force does so even if fewer
// nodes are left than there are replicas.
func (c *Client) Remove(ctx context.Context, name string, force bool) error {
	_, err := operate(ctx, c, &pb.RemoveRequest{Node: name, Force: force}, pb.AdminClient.Remove)
	return ofNode(err)
}

// A Recovered is what a forced recovery did.
type Recovered struct {
	Floored int `json:"floored"` // partitions that begin again with a floor
	Moved   int `json:"moved"`   // partitions that have moved without one
}

// Recover makes a cluster of what is left when the nodes that are lost, named by their names or ids, will never come
// back. It asks the first server alone, and only once: a second attempt could start the same recovery again.
func (c *Client) Recover(ctx context.Context, lost []string) (Recovered, error) {
	ctx, cancel := context.WithDeadline(ctx, c.nodes.Deadline(ctx))
	defer cancel()
	n := c.nodes.Others()[0]
	m, err := pb.NewAdminClient(n.Conn()).Recover(ctx, &pb.RecoverRequest{Lost: lost})
	if err != nil {
		return Recovered{}, ofNode(n.Explain(ctx.Err() != nil, pb.DecodeError(err)))
	}
	return Recovered{Floored: int(m.GetFloored()), Moved: int(m.GetMoved())}, nil
}
