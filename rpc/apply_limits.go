package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// StoredLimits are the limits that a cluster keeps, for its HTTP API.
type StoredLimits struct {
	Cluster *cluster.Cluster
	Limits  func() *limit.Document                    // those that the node goes by
	Adopted func(ctx context.Context, version uint64) // see Config.Adopted
}

// settle waits until a node goes by what its cluster has told it.
func settle(ctx context.Context, c *cluster.Cluster, adopted func(context.Context, uint64)) {
	if adopted != nil {
		adopted(ctx, c.State().Version)
	}
}

// Version is that of limits which this node goes by, or of earlier ones. Ask before the limits are looked at: who changes these and names a later version
// would undo what he has not seen.
func (l StoredLimits) Version(ctx context.Context) (uint64, error) {
	return adoptedVersion(ctx, l.Cluster, l.Adopted)
}

// adoptWithin is how long a node may take to go by what is agreed before it says that it does not.
const adoptWithin = 4 * time.Second

// adoptedVersion waits until a node goes by the limits that are in force now, and is their version.
func adoptedVersion(ctx context.Context, c *cluster.Cluster, adopted func(context.Context, uint64)) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, adoptWithin)
	defer cancel()
	version := c.State().LimitsVersion
	if settle(ctx, c, adopted); ctx.Err() != nil {
		return 0, fmt.Errorf("%w: this node does not go by version %d of the limits yet: %w", limit.ErrUnavailable, version, ctx.Err())
	}
	return version, nil
}

// Audit is the newest entries of the audit log; 0 is all.
func (l StoredLimits) Audit(last int) any { return l.Cluster.Audit(last) }

// Overrides is a page of those in force, of one limit or, without a name, of all.
func (l StoredLimits) Overrides(name, after string) (any, error) {
	return overridesAfter(l.Cluster, l.Limits(), name, after)
}

// History is the last versions of the limits, or one with its document.
func (l StoredLimits) History(version uint64) (any, error) {
	editions, err := l.Cluster.History(version)
	if errors.Is(err, agreed.ErrUnknownVersion) {
		return nil, &limit.FieldError{Field: "version", Problem: err.Error()}
	}
	return editions, err
}

// Apply puts other limits in force.
func (l StoredLimits) Apply(ctx context.Context, m *pb.ApplyLimitsRequest) (*pb.ApplyLimitsResponse, error) {
	applied, err := applyLimits(ctx, l.Cluster, m)
	if err == nil {
		settle(ctx, l.Cluster, l.Adopted)
	}
	return applied, err
}

// applyLimits puts a limits document in force in a cluster, if the version in force is the expected one: the version of the request;
// where that is 0, the one that the document says it was made from; where the document says none, the one in force here when the
// request arrives. So of two concurrent changes one is refused. A document that leaves out limits in force is refused too, unless the
// caller has asked to remove them: an editor may be in the middle of saving the file. With this refusal alone comes what would change. A
// document that equals what is in force changes nothing, whatever version is expected.
func applyLimits(ctx context.Context, c *cluster.Cluster, m *pb.ApplyLimitsRequest) (*pb.ApplyLimitsResponse, error) {
	if c == nil {
		return nil, errAlone
	}
	s := c.State()
	doc, err := documentOf(s, m)
	if err != nil {
		return nil, err
	}
	if !s.Founded() {
		return nil, errNotHeard
	}
	before := &limit.Document{}
	if s.LimitsVersion > 0 {
		if before, err = limit.ParseDocument(s.Limits); err != nil {
			return nil, err
		}
	}
	difference := limit.Difference(before, doc)
	difference.Effects = append(difference.Effects, limit.EffectsOnOverrides(before, doc, liveOf(c))...)
	change := changeOf(difference)
	change.Version = s.LimitsVersion
	text, made, line := limit.CutVersion([]byte(m.GetDocument()))
	switch {
	case len(difference.Names()) == 0 && s.LimitsVersion > 0:
		text = s.Limits // the leader says whether that is in force still
	case m.GetVersion() != 0 && m.GetVersion() != s.LimitsVersion:
		return nil, status.Errorf(codes.Aborted,
			"version %d is in force, not %d: another client has changed the limits; read them again and repeat your change", s.LimitsVersion, m.GetVersion())
	case m.GetVersion() == 0 && line > 0 && made != s.LimitsVersion:
		return nil, status.Errorf(codes.Aborted, "line %d: the document was made from version %d, and version %d is in force: another client "+
			"has changed the limits since: get them again and repeat your change, or remove that line to replace the limits in force", line, made, s.LimitsVersion)
	}
	if len(change.GetRemoved()) > 0 {
		noteUse(ctx, c, change)
	}
	if err := c.CheckLimits(text); err != nil {
		return nil, refusal(err)
	}
	switch {
	case m.GetDryRun():
		return change, nil
	case len(change.GetRemoved()) > 0 && !m.GetRemove():
		return change, status.Error(codes.FailedPrecondition, leftOut(change, m.GetRollback()))
	}
	change.Version, err = c.SetLimits(by(ctx, detailOf(m, &difference)), s.LimitsVersion, text)
	if errors.Is(err, agreed.ErrStale) {
		return nil, status.Error(codes.Aborted, "another client has just changed the limits: read them again and repeat your change")
	}
	if err != nil {
		return nil, refusal(err)
	}
	return change, nil
}

// documentOf is the document that is to be put in force: that of the request, or, for a rollback, one that the history has, which then
// stands in the request.
func documentOf(s *agreed.State, m *pb.ApplyLimitsRequest) (*limit.Document, error) {
	if m.GetRollback() != 0 {
		if m.GetDocument() != "" {
			return nil, status.Error(codes.InvalidArgument, "document: a rollback brings its own document back: leave the document out")
		}
		edition, err := s.Edition(m.GetRollback())
		if err != nil {
			return nil, refusal(err)
		}
		m.Document = string(edition.Limits)
		doc, err := limit.ParseDocument(edition.Limits)
		if err != nil {
			return nil, status.Errorf(codes.FailedPrecondition, "version %d of the limits: %v", m.GetRollback(), err)
		}
		return doc, nil
	}
	doc, err := limit.ReadDocument([]byte(m.GetDocument()))
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return doc, nil
}

// detailOf is what the audit log and the history say of a change.
func detailOf(m *pb.ApplyLimitsRequest, difference *limit.Changes) string {
	if m.GetRollback() == 0 {
		return difference.Summary()
	}
	return fmt.Sprintf("back to version %d: %s", m.GetRollback(), difference.Summary())
}

// changeOf is what a document changes, as the response to the caller.
func changeOf(c limit.Changes) *pb.ApplyLimitsResponse {
	change := &pb.ApplyLimitsResponse{Added: c.Added, Changed: c.Changed, Removed: c.Removed}
	for _, e := range c.Effects {
		change.Effects = append(change.Effects, &pb.LimitEffect{Limit: e.Limit, Text: e.Text})
	}
	for _, f := range c.Fields {
		change.Changes = append(change.Changes, &pb.LimitChange{Limit: f.Limit, Field: f.Field, Before: f.Before, After: f.After})
	}
	return change
}

// noteUse adds to change which of the limits to be removed are in use, and which nodes did not say.
func noteUse(ctx context.Context, c *cluster.Cluster, change *pb.ApplyLimitsResponse) {
	used, silent := c.LimitsUsed(ctx)
	for _, name := range change.GetRemoved() {
		if ago, ok := used[name]; ok {
			change.Used = append(change.Used, &pb.LimitUse{Limit: name, AgoNs: int64(ago)})
		}
	}
	change.Silent = silent
}

// leftOut says why a document is refused that leaves out limits.
func leftOut(change *pb.ApplyLimitsResponse, rollback uint64) string {
	names := make([]string, len(change.GetRemoved()))
	for i, name := range change.GetRemoved() {
		names[i] = name
		if at := slices.IndexFunc(change.GetUsed(), func(u *pb.LimitUse) bool { return u.GetLimit() == name }); at >= 0 {
			ago := time.Duration(change.GetUsed()[at].GetAgoNs()).Round(time.Second)
			names[i] += fmt.Sprintf(" (in use: last check %v ago)", ago)
		}
	}
	said := "the document leaves out limits that are in force: " + strings.Join(names, ", ") +
		": add them, or keep them with jeton limits apply --merge, or remove them with jeton limits apply --remove or " +
		"PUT /v1/limits?remove=true"
	if rollback != 0 {
		said = fmt.Sprintf("version %d leaves out limits that are in force: %s: checks that name them would fail; jeton limits rollback --remove removes them",
			rollback, strings.Join(names, ", "))
	}
	if silent := change.GetSilent(); len(silent) > 0 {
		said += "; no answer from " + strings.Join(silent, ", ") + ", so limits may be in use there"
	}
	return said
}
