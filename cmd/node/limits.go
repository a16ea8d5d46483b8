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
	doc, err := limit.ParseDocument(text)
	if err != nil {
		return nil, fmt.Errorf("limits file %s: %w", path, err)
	}
	return doc, nil
}

// logLimits logs that there are no limits, and where the limits file that the node was started with differs from the cluster's limits,
// which rule.
func (n *parts) logLimits(file *limit.Document) {
	if len(n.limits.Load().Rules()) == 0 {
		n.cfg.Logger.Warn("no limits are in force, so every check is refused with an unknown limit: put some in force with jeton limits apply -f limits.yaml")
	}
	if n.cfg.Limits == "" {
		return
	}
	differs := limit.Difference(n.limits.Load(), file)
	if names := differs.Names(); len(names) > 0 {
		n.cfg.Logger.Warn("the limits file differs from the limits in force in the cluster: jeton limits diff shows how; jeton limits apply puts the file in force",
			"file", n.cfg.Limits, "limits", names)
	}
}

// reloadWithin is how long it may take until a cluster has agreed on other limits.
const reloadWithin = 10 * time.Second

// Reload reads the limits file again and puts it in force whole, in the whole cluster, or, if anything in it is wrong,
// leaves everything as it is and says what. What buckets have spent stays spent. Certificates and tokens are read again
// too, as they are by themselves when they change; what is wrong with them is logged.
func (n *Node) Reload() error {
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
		return n.member.reload(doc)
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
func (m *membership) reload(doc *limit.Document) error {
	written, err := doc.YAML()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), reloadWithin)
	defer cancel()
	for {
		text := written
		changed, s, unchanged := m.cluster.Changed(), m.cluster.State(), false
		if s.LimitsVersion > 0 {
			inForce, err := limit.ParseDocument(s.Limits)
			if err != nil {
				return fmt.Errorf("the cluster's limits: %w", err)
			}
			if err := m.node.leavesOutNone(inForce, doc, "remove them with jeton limits apply --remove"); err != nil {
				return err
			}
			if unchanged = sameLimits(inForce, doc); unchanged {
				text = s.Limits // the leader says whether that is in force still
			}
		}
		_, err := m.cluster.SetLimits(ctx, s.LimitsVersion, text)
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

// checkLimits says what is wrong with a limits document.
func checkLimits(text []byte) error {
	_, err := limit.ParseDocument(text)
	return err
}

// Limits are the stored limits that are in force.
func (n *Node) Limits() *limit.Document { return n.limits.Load() }

// SetLimits puts other limits in force on a node that is alone, without a cluster whose limits would rule. The next Reload
// reads the file again, if there is one.
func (n *Node) SetLimits(doc *limit.Document) { n.limits.Store(doc) }
