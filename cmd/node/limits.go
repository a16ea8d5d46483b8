package node

import (
	"fmt"
	"os"

	"github.com/jeton-dev/jeton/actor/limit"
)

// readLimits reads the limits document at path; without a path there are no stored limits.
func readLimits(path string) (*limit.Document, error) {
	if path == "" {
		return limit.ParseDocument(nil)
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

// Reload reads the limits file again and puts it in force whole, or, if anything in it is wrong, leaves everything as
// it is and says what. What buckets have spent stays spent.
func (n *Node) Reload() error {
	if n.cfg.Limits == "" {
		return errNoLimitsFile
	}
	doc, err := readLimits(n.cfg.Limits)
	if err != nil {
		return fmt.Errorf("%w: the old limits stay in force", err)
	}
	n.limits.Store(doc)
	n.cfg.Logger.Info("limits in force", "file", n.cfg.Limits, "limits", len(doc.Rules()))
	return nil
}

// Limits are the stored limits that are in force.
func (n *Node) Limits() *limit.Document { return n.limits.Load() }

// SetLimits puts other limits in force. The next Reload reads the file again, if there is one.
func (n *Node) SetLimits(doc *limit.Document) { n.limits.Store(doc) }
