//go:build !mutant_answerfirst

package actor

import "github.com/jeton-dev/jeton/storage/register"

// handOver gives a batch of reservations to a replica, which calls done when they are durable.
func handOver(r Replica, batch []register.Reservation, done func([]register.Answer, error)) {
	r.Reserve(batch, done)
}
