package gateway

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"math/rand/v2"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/gateway/denial"
	"github.com/jeton-dev/jeton/gateway/identity"
)

// How many bytes the gateway keeps of what clients send, and of an error.
const (
	maxPath   = 512
	maxMethod = 16
	maxOrigin = 300 // a scheme, a name of at most 253 bytes, and a port
	maxWhy    = 1024
	maxModel  = 256
)

// clip copies the beginning of a text: the text may be a part of something much longer.
func clip(s string, maxBytes int) string { return strings.Clone(s[:min(len(s), maxBytes)]) }

// sampled reports true for that share of its calls.
func sampled(share float64) bool { return share >= 1 || share > 0 && rand.Float64() < share }

// shownKey is a key as logs show it: its hash if it contains a secret.
func shownKey(k identity.Key) string {
	if k.Secret {
		return denial.Hash(k.Text)
	}
	return k.Text
}

// whyUndecided tells operators why the cluster did not decide a check of these limits; empty if it did.
func whyUndecided(refs []limit.Ref, err error) string {
	if err == nil {
		return ""
	}
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.Name
		if ref.Inline != nil {
			names[i] = ref.Inline.Name
		}
	}
	what := "limit "
	if len(names) > 1 {
		what = "limits "
	}
	said := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		said = "no answer within cluster.decide_within: " + said
	}
	return clip(what+strings.Join(names, ", ")+": "+said, maxWhy)
}

// stdLog adapts a logger for parts of the standard library that take one of their own.
func stdLog(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelWarn) }
