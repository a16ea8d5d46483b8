package gateway

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/jeton-dev/jeton/gateway/config"
)

// maxNames is how many names of each kind a log line has.
const maxNames = 20

// sayChange logs what has changed from the previous document to the one in force. If something is missing, it logs a warning: an
// operator has removed it, or the file was cut off.
func (e *Gateway) sayChange(before, now *config.Document) {
	diff := now.Since(before)
	attributes := []any{
		slog.String("file", e.cfg.Path), slog.Int("routes", len(now.Routes)), slog.Int("routes_before", len(before.Routes)),
	}
	if had, has := before.APIKeys(), now.APIKeys(); had+has > 0 {
		attributes = append(attributes, slog.Int("keys", has), slog.Int("keys_before", had))
	}
	for _, list := range []struct {
		name  string
		names []string
	}{
		{"added", diff.Added},
		{"changed", diff.Changed},
		{"removed", diff.Removed},
		{"fewer_checks", diff.FewerChecks},
		{"gone", diff.Gone},
		{"keys_gone", diff.KeysGone},
		{"fields", diff.Fields},
	} {
		if len(list.names) > 0 {
			attributes = append(attributes, slog.Any(list.name, bounded(list.names)))
		}
	}
	if diff.Less() {
		e.cfg.Logger.Warn("document in force; some of what the previous one had is missing", attributes...)
		return
	}
	e.cfg.Logger.Info("document in force", attributes...)
}

// bounded cuts a list of names after maxNames, and says how many more there are.
func bounded(names []string) []string {
	if len(names) <= maxNames {
		return names
	}
	return append(slices.Clip(names[:maxNames]), fmt.Sprintf("and %d more", len(names)-maxNames))
}
