package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/ring/agreed"
	"github.com/jeton-dev/jeton/ring/cluster"
	"github.com/jeton-dev/jeton/ring/level"
)

var errNoLimitsFile = errors.New("no limits file to reload: the node was started without --limits")

// readLimits reads the limits document at path; without a path there are no stored limits.
func readLimits(path string) (*limit.Document, error) {
	if path == "" {
		return &limit.Document{}, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("limits file: %w", err)
	}
	doc, err := limit.ReadDocument(text)
	if err != nil {
		return nil, fmt.Errorf("limits file %s: %w", path, err)
	}
	return doc, nil
}

// openLimits reads the limits file that the node is started with. A file that is wrong ends the start, except that of a member of a cluster:
// the limits in force are the cluster's own, and the file is not used.
func (n *parts) openLimits() error {
	doc, err := readLimits(n.cfg.Limits)
	switch {
	case err == nil:
		n.fileLimits = doc
	case !n.cfg.isMember():
		return err
	default:
		n.cfg.Logger.Error("the limits file is wrong; the node starts without it, as the limits in force are the cluster's own: correct the file, or leave out --limits", "error", err)
		doc = &limit.Document{}
	}
	n.limits.Store(doc)
	return nil
}

// logLimits logs that there are no limits, and where the limits file that the node was started with differs from the cluster's limits,
// which rule.
func (n *parts) logLimits() {
	if len(n.limits.Load().Rules()) == 0 {
		n.cfg.Logger.Warn("no limits are in force, so every check that names one is refused with an unknown limit: put some in force with jeton limits apply -f limits.yaml")
	}
	if n.cfg.Limits == "" || n.fileLimits == nil { // there is none that could differ
		return
	}
	differs := limit.Difference(n.limits.Load(), n.fileLimits)
	if names := differs.Names(); len(names) > 0 {
		n.cfg.Logger.Warn("the limits file differs from the limits in force in the cluster: jeton limits diff shows how; jeton limits apply puts the file in force",
			"file", n.cfg.Limits, "limits", names)
	}
}

// reloadWithin is how long it may take until a cluster has agreed on other limits.
const reloadWithin = 10 * time.Second

// Reload reads the limits file again and puts it in force whole, in the whole cluster, or, if anything in it is wrong,
// leaves everything as it is and says what. What buckets have spent stays spent. Certificates and tokens are read again
// too, as they are by themselves when they change; what is wrong with them is logged. A member waits for its cluster to agree until ctx
// ends, and at most 10 seconds.
func (n *Node) Reload(ctx context.Context) error {
	n.secrets.reread(true)
	switch {
	case n.cfg.Limits == "" && len(n.secrets.watched) > 0:
		return nil
	case n.cfg.Limits == "":
		return errNoLimitsFile
	}
	doc, err := readLimits(n.cfg.Limits)
	if err != nil {
		return fmt.Errorf("%w: the old limits stay in force", err)
	}
	if n.member != nil {
		return n.member.reload(ctx, doc)
	}
	if err := n.leavesOutNone(n.Limits(), doc, "restart the node to remove them"); err != nil {
		return err
	}
	if sameLimits(n.Limits(), doc) {
		n.logUnchanged()
		return nil
	}
	n.limits.Store(doc)
	n.cfg.Logger.Info("limits in force", "file", n.cfg.Limits, "limits", len(doc.Rules()))
	return nil
}

// sameLimits says whether two documents say the same.
func sameLimits(a, b *limit.Document) bool {
	c := limit.Difference(a, b)
	return len(c.Names()) == 0
}

func (n *parts) logUnchanged() {
	n.cfg.Logger.Info("the limits file equals the limits in force: nothing changes", "file", n.cfg.Limits)
}

// leavesOutNone refuses a limits file without limits that are in force: it may be just being saved.
func (n *parts) leavesOutNone(inForce, file *limit.Document, remove string) error {
	removed := limit.Difference(inForce, file).Removed
	if len(removed) == 0 {
		return nil
	}
	return fmt.Errorf("limits file %s leaves out limits that are in force, %s: the old limits stay in force; put them back, or %s",
		n.cfg.Limits, strings.Join(removed, ", "), remove)
}

// reload has the whole cluster put other limits in force, in place of those that they were compared with: if another
// client has changed these meanwhile, they are compared again.
func (m *membership) reload(ctx context.Context, doc *limit.Document) error {
	written, err := doc.YAML()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	for {
		if err := ctx.Err(); err != nil {
			return stillInForce(err)
		}
		text, by := written, cluster.Origin{Who: "the node's limits file"}
		changed, s, unchanged := m.cluster.Changed(), m.cluster.State(), false
		if s.LimitsVersion > 0 {
			inForce, err := limit.ParseDocument(s.Limits)
			if err != nil {
				return fmt.Errorf("the cluster's limits: %w", err)
			}
			if err := m.node.leavesOutNone(inForce, doc, "remove them with jeton limits apply --remove"); err != nil {
				return err
			}
			difference := limit.Difference(inForce, doc)
			by.Detail = difference.Summary()
			if unchanged = len(difference.Names()) == 0; unchanged {
				text = s.Limits // the leader says whether that is in force still
			}
		}
		_, err := m.cluster.SetLimits(cluster.WithOrigin(ctx, by), s.LimitsVersion, text)
		if err == nil && unchanged {
			m.node.logUnchanged()
		}
		if !errors.Is(err, agreed.ErrStale) {
			return stillInForce(err)
		}
		select {
		case <-changed: // this node was late
		case <-ctx.Done():
			return stillInForce(err)
		}
	}
}

func stillInForce(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: the old limits stay in force", err)
}

// usedWithin is how long ago a limit may have decided to count as one in use.
const usedWithin = time.Hour

// used says how long ago limits decided here, of those that are in use.
func (m *membership) used() map[string]time.Duration {
	if m.joinedAt.Load() == 0 { // there are no actors before
		return nil
	}
	return m.node.system.Used(usedWithin)
}

// checkLimits says what is wrong with a limits document, or which level of the cluster its fields take.
func checkLimits(text []byte) (needed int, err error) {
	doc, err := limit.ReadDocument(text)
	if err != nil {
		return 0, err
	}
	return neededBy(doc), nil
}

// neededBy is the level that the fields of a document take: those of its limits, their plans and their overrides.
func neededBy(doc *limit.Document) int {
	needed := level.First
	for _, r := range doc.Rules() {
		needed = max(needed, level.Needed(r.Limit))
		for _, p := range doc.Plans(r.Name) {
			needed = max(needed, level.Needed(p.Rule.Limit))
		}
		for _, o := range doc.Written(r.Name) {
			needed = max(needed, level.Needed(o.Rule.Limit))
		}
	}
	return needed
}

// reaches says how far limits reach with another document in the place of a state's: see [cluster.Config]. It says nothing where the
// cluster will refuse the document.
func reaches(s *agreed.State, after []byte) (shorter, longer map[string]int64) {
	was, err := limit.ParseDocument(s.Limits)
	if err != nil {
		return nil, nil
	}
	is, err := limit.ParseDocument(after)
	if err != nil {
		return nil, nil
	}
	longer = map[string]int64{}
	for _, o := range s.Overrides.All() {
		if lead := is.ReachOf(overrideOf(&o)); lead > o.Reach {
			longer[o.Limit] = max(longer[o.Limit], lead)
		}
	}
	changes := overrideChanges(s, nil)
	was, _ = was.WithOverrides(changes) // those that do not fit have no effect
	is, _ = is.WithOverrides(changes)
	return limit.Shorter(was, is), longer
}

// reach is how far an override lets its limit be reserved.
func (m *membership) reach(s *agreed.State, o agreed.Override) int64 {
	doc := m.read.Load()
	if doc == nil || doc.version != s.LimitsVersion {
		parsed, err := limit.ParseDocument(s.Limits)
		if err != nil {
			return 0
		}
		doc = &versioned{s.LimitsVersion, parsed}
		m.read.Store(doc)
	}
	return doc.limits.ReachOf(overrideOf(&o))
}

// overrideChanges are the overrides of a state that are not as they were before.
func overrideChanges(s *agreed.State, before *agreed.Overrides) (changes []limit.OverrideChange) {
	s.Overrides.EachChange(before, func(k agreed.OverrideKey, now *agreed.Override) {
		c := limit.OverrideChange{Limit: k.Limit, Key: k.Key}
		if now != nil {
			set := overrideOf(now)
			c.Set = &set
		}
		changes = append(changes, c)
	})
	return changes
}

func overrideOf(o *agreed.Override) limit.Override {
	return limit.Override{Limit: o.Limit, Key: o.Key, Says: o.Says, Until: o.Until}
}

// A versioned is a version of the cluster's limits as it was read, without overrides.
type versioned struct {
	version uint64
	limits  *limit.Document
}

// Limits are the stored limits that are in force.
func (n *Node) Limits() *limit.Document { return n.limits.Load() }

// SetLimits puts other limits in force on a node that is alone, without a cluster whose limits would rule. The next Reload
// reads the file again, if there is one.
func (n *Node) SetLimits(doc *limit.Document) { n.limits.Store(doc) }
