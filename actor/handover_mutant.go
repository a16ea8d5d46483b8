//go:build mutant_answerfirst

package actor

import (
	"slices"

	"github.com/jeton-dev/jeton/storage/register"
)

// handOver is wrong on purpose: it takes every reservation for accepted before the replica has heard of it. The process
// tests must notice.
func handOver(r Replica, batch []register.Reservation, done func([]register.Answer, error)) {
	answers := make([]register.Answer, len(batch))
	for i, m := range batch {
		answers[i] = register.Answer{Verdict: register.Accepted, Position: m.To, Generation: m.Generation, Epoch: m.Epoch}
	}
	batch = slices.Clone(batch)
	done(answers, nil)
	r.Reserve(batch, func([]register.Answer, error) {})
}
