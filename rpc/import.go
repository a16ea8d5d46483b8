package rpc

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/rpc/backup"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// maxLines is how many lines an answer has about overrides at most.
const maxLines = 1000

// ImportCluster implements jeton.v1.Admin. Everything is checked before anything is changed.
func (a admin) ImportCluster(ctx context.Context, m *pb.ImportClusterRequest) (*pb.ImportClusterResponse, error) {
	if a.cluster == nil {
		return nil, errAlone
	}
	done, err := a.files.take(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	text, err := backup.Unpack(m.GetFile())
	var f *backup.File
	if err == nil {
		f, err = backup.Decode(text)
	}
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	p, err := a.plan(ctx, f, m.GetRemove())
	if err != nil || m.GetDryRun() {
		return p.answer, err
	}
	changed, err := a.cluster.Import(by(ctx, ""), p.Import)
	if err != nil {
		return nil, interrupted(err, changed, len(p.Set)+len(p.Unset))
	}
	settle(ctx, a.cluster, a.adopted)
	return p.answer, nil
}

// interrupted is why an import has ended in the middle.
func interrupted(err error, done, all int) error {
	s := status.Convert(refusal(err))
	if s.Code() == codes.Unknown {
		s = status.New(codes.Unavailable, err.Error())
	}
	return status.Errorf(s.Code(), "%s: %d of %d overrides were changed, and limits perhaps too: run the same import again, which does what is left",
		s.Message(), done, all)
}

// An importPlan is what an import does.
type importPlan struct {
	cluster.Import

	answer *pb.ImportClusterResponse
}

// plan finds out what a file changes, and refuses it if any part cannot be.
func (a admin) plan(ctx context.Context, f *backup.File, remove bool) (*importPlan, error) {
	s := a.cluster.State()
	document, _, _ := limit.CutVersion(f.Content.Limits.Text())
	doc, err := limit.ReadDocument(document)
	if err != nil {
		return &importPlan{}, status.Errorf(codes.InvalidArgument, "content.limits.document: %v", err)
	}
	change, err := applyLimits(ctx, a.cluster, &pb.ApplyLimitsRequest{Document: string(document), Version: s.LimitsVersion, DryRun: true})
	if err != nil {
		return &importPlan{}, err
	}
	if left := change.GetRemoved(); len(left) > 0 && !remove {
		return &importPlan{}, status.Errorf(codes.FailedPrecondition,
			"the file leaves out limits that are in force: %s: checks that name them would fail; --remove removes them", strings.Join(left, ", "))
	}
	p := &importPlan{answer: &pb.ImportClusterResponse{Limits: change}}
	p.File = fmt.Sprintf("sha256 %s of cluster %s, exported %s", f.SHA256, f.Content.Cluster, f.Exported.At.UTC().Format(time.RFC3339))
	if len(change.GetAdded())+len(change.GetChanged())+len(change.GetRemoved()) > 0 {
		p.Base, p.Limits = s.LimitsVersion, document
		p.Change = p.limitsIn(change)
	}
	p.overrides(a.cluster.OverridesIn(s), f, doc, time.Unix(0, a.cluster.Now()), remove)
	return p, refusal(a.cluster.CheckImport(p.Import))
}

// limitsIn is a change of limits in a line, for the audit log.
func (*importPlan) limitsIn(c *pb.ApplyLimitsResponse) string {
	var parts []string
	for _, of := range []struct {
		what  string
		names []string
	}{{"added", c.GetAdded()}, {"changed", c.GetChanged()}, {"removed", c.GetRemoved()}} {
		if len(of.names) > 0 {
			parts = append(parts, of.what+" "+strings.Join(of.names, ", "))
		}
	}
	return strings.Join(parts, "; ")
}

// overrides plans those of a file, which go with the limits of doc.
func (p *importPlan) overrides(inForce []cluster.OverrideStatus, f *backup.File, doc *limit.Document, now time.Time, remove bool) {
	present := map[agreed.OverrideKey]cluster.OverrideStatus{}
	for _, o := range inForce {
		present[agreed.OverrideKey{Limit: o.Limit, Key: o.Key}] = o
	}
	for _, o := range f.Content.Overrides {
		k := agreed.OverrideKey{Limit: o.Limit, Key: o.Key}
		was, had := present[k]
		delete(present, k)
		why := doc.NoEffect(limit.Override{Limit: o.Limit, Key: o.Key, Says: o.Says})
		switch {
		case !o.Until.IsZero() && !o.Until.After(now):
			p.line("  %s %s: left out: it has ended at %s", o.Limit, o.Key, second(o.Until))
			if had { // which is another one
				present[k] = was
			}
		case why != "":
			p.line("  %s %s: left out: it has no effect: %s", o.Limit, o.Key, why)
		case had && was.Says == o.Says && was.Until.Equal(o.Until):
		default:
			set := agreed.Override{Limit: o.Limit, Key: o.Key, Says: o.Says}
			if !o.Until.IsZero() {
				set.Until = o.Until.UnixNano()
			}
			p.Set = append(p.Set, set)
			if had {
				p.line("~ %s %s: %s → %s", o.Limit, o.Key, saysUntil(was.Says, was.Until), saysUntil(o.Says, o.Until))
			} else {
				p.line("+ %s %s: %s", o.Limit, o.Key, saysUntil(o.Says, o.Until))
			}
		}
	}
	for _, o := range inForce {
		k := agreed.OverrideKey{Limit: o.Limit, Key: o.Key}
		switch _, left := present[k]; {
		case left && remove:
			p.Unset = append(p.Unset, k)
			p.line("- %s %s: %s", o.Limit, o.Key, saysUntil(o.Says, o.Until))
		case left:
			p.answer.Kept++
		}
	}
	p.answer.Set, p.answer.Removed = uint32(len(p.Set)), uint32(len(p.Unset))
}

// line adds a line to the answer, unless there are many.
func (p *importPlan) line(format string, args ...any) {
	switch n := len(p.answer.GetOverrides()); {
	case n < maxLines:
		p.answer.Overrides = append(p.answer.Overrides, fmt.Sprintf(format, args...))
	case n == maxLines:
		p.answer.Overrides = append(p.answer.Overrides, "  and more, which are counted below")
	}
}

// saysUntil is what an override says, and its end.
func saysUntil(says string, until time.Time) string {
	if until.IsZero() {
		return says
	}
	return says + " until " + second(until)
}

func second(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }
