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

// An undecided is what the cluster has not decided: checks of these limits, the key of the first one, and why.
type undecided struct {
	limits []string // as people see them
	key    identity.Key
	err    error // nil: it has decided
}

// add adds a check.
func (u *undecided) add(limits []string, key identity.Key, err error) {
	u.limits = append(u.limits, limits...)
	if u.err == nil {
		u.key, u.err = key, err
	}
}

// why tells operators why the cluster did not decide, with a secret key as it is shown; empty if it did.
func (u undecided) why() string {
	if u.err == nil {
		return ""
	}
	what := "limit "
	if len(u.limits) > 1 {
		what = "limits "
	}
	said := u.err.Error()
	if errors.Is(u.err, context.DeadlineExceeded) {
		said = "no answer within decide_within: " + said
	}
	if u.key.Secret && u.key.Text != "" {
		said = strings.ReplaceAll(said, limit.Quote(u.key.Text), limit.Quote(shownKey(u.key)))
		said = strings.ReplaceAll(said, u.key.Text, shownKey(u.key))
	}
	return clip(what+strings.Join(u.limits, ", ")+": "+said, maxWhy)
}

// stdLog adapts a logger for parts of the standard library that take one of their own.
func stdLog(l *slog.Logger) *log.Logger { return slog.NewLogLogger(l.Handler(), slog.LevelWarn) }
