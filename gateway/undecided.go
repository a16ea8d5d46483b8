package gateway

import (
	"context"
	"errors"
	"strings"

	"github.com/jeton-dev/jeton/actor/limit"
)

// mostWhy is how many bytes are kept of why a check was not decided, or a request not answered.
const mostWhy = 1024

// undecided says for operators why the cluster did not decide a check of these limits; empty if it did.
func undecided(refs []limit.Ref, err error) string {
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
		said = "no answer in the time that a request may wait (cluster.decide_within): " + said
	}
	return brief(what+strings.Join(names, ", ")+": "+said, mostWhy)
}
