package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
)

var errNoLimitsFile = errors.New("there is no limits file to read again: the node was started without --limits")

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

// tellSeed logs where the limits file that the node was started with differs from the cluster's limits, which rule.
func (n *Node) tellSeed(file *limit.Document) {
	if n.cfg.Limits == "" {
		return
	}
	if names := differing(file, n.Limits()); len(names) > 0 {
		n.cfg.Logger.Warn("the limits file differs from the limits of the cluster, which rule: see jeton limits get; SIGHUP puts the file in force",
			"file", n.cfg.Limits, "limits", names)
	}
}

// differing are the names of the limits that only one of two documents has, or that differ, in order.
func differing(a, b *limit.Document) (names []string) {
	for _, r := range a.Rules() {
		if other, ok := b.Rule(r.Name); !ok || *other != *r {
			names = append(names, r.Name)
		}
	}
	for _, r := range b.Rules() {
		if _, ok := a.Rule(r.Name); !ok {
			names = append(names, r.Name)
		}
	}
	slices.Sort(names)
	return names
}

// reloadWithin is how long it may take until a cluster has agreed on other limits.
const reloadWithin = 10 * time.Second

// Reload reads the limits file again and puts it in force whole, in the whole cluster, or, if anything in it is wrong,
// leaves everything as it is and says what. What buckets have spent stays spent. Certificates and tokens are read again
// too, as they are by themselves when they change; what is wrong with them is logged.
func (n *Node) Reload() error {
	n.secrets.reread(true)
	switch {
	case n.cfg.Limits == "" && len(n.secrets.kept) > 0:
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
	if err := n.leavesOutNone(doc, "restart the node to remove them"); err != nil {
		return err
	}
	n.limits.Store(doc)
	n.cfg.Logger.Info("limits in force", "file", n.cfg.Limits, "limits", len(doc.Rules()))
	return nil
}

// leavesOutNone refuses a document without limits that are in force: it may be a file that is just being saved.
func (n *Node) leavesOutNone(doc *limit.Document, remove string) error {
	var missing []string
	for _, d := range limit.Differences(n.limits.Load(), doc) {
		if d.After == nil {
			missing = append(missing, d.Limit)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("limits file %s leaves out limits that are in force, %s: the old limits stay in force; put them back, or %s",
		n.cfg.Limits, strings.Join(missing, ", "), remove)
}

// reload has the whole cluster put other limits in force.
func (m *membership) reload(doc *limit.Document) error {
	if err := m.node.leavesOutNone(doc, "remove them with jeton limits apply --remove"); err != nil {
		return err
	}
	text, err := doc.YAML()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), reloadWithin)
	defer cancel()
	if _, err := m.cluster.SetLimits(ctx, 0, text); err != nil {
		return fmt.Errorf("%w: the old limits stay in force", err)
	}
	return nil
}

// Limits are the stored limits that are in force.
func (n *Node) Limits() *limit.Document { return n.limits.Load() }

// SetLimits puts other limits in force on a node that is alone, without a cluster whose limits would rule. The next Reload
// reads the file again, if there is one.
func (n *Node) SetLimits(doc *limit.Document) { n.limits.Store(doc) }
