package actor

import (
	"fmt"
	"sync"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/storage/register"
)

// errFullInbox answers checks that a shard has no room for.
var errFullInbox = fmt.Errorf("%w: this node has more checks than it can look at", limit.ErrOverloaded)

// answered is what a replica said to the reservations that a shard had sent to it.
type answered struct {
	replica int
	sent    *sending
	answers []register.Answer
	err     error
}

// An inbox is where everything arrives that a shard has to do. Checks are bounded; answers need no bound, because an
// actor has at most one reservation in flight for each bucket.
type inbox struct {
	mu      sync.Mutex
	mail    []*mail
	answers []answered
	bound   int
	closed  bool
	wake    chan struct{} // holds one token when the shard's goroutine is to look

	rejected func(n int)
}

// push hands in mail, in order. What has no place is answered at once. It says whether there was no other mail, so that
// it is for the caller to have it looked at: see [shard.attend].
func (b *inbox) push(ms ...*mail) (first bool) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		for _, m := range ms {
			m.fail(errStopping)
		}
		return false
	}
	room := min(b.bound-len(b.mail), len(ms))
	first = len(b.mail) == 0
	b.mail = append(b.mail, ms[:room]...)
	b.mu.Unlock()
	if room < len(ms) {
		b.rejected(len(ms) - room)
		for _, m := range ms[room:] {
			m.fail(errFullInbox)
		}
	}
	return first
}

func (b *inbox) pushAnswers(a answered) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers = append(b.answers, a)
}

// waits says whether there is anything that nobody has taken.
func (b *inbox) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mail) > 0 || len(b.answers) > 0 || b.closed
}

// take returns all mail that has arrived, in exchange for the slice of the last time.
func (b *inbox) take(mail []*mail) ([]*mail, bool) {
	clear(mail)
	b.mu.Lock()
	defer b.mu.Unlock()
	mail, b.mail = b.mail, mail[:0]
	return mail, b.closed
}

// takeAnswers returns all answers that have arrived, in exchange for the slice of the last time.
func (b *inbox) takeAnswers(answers []answered) []answered {
	clear(answers)
	b.mu.Lock()
	defer b.mu.Unlock()
	answers, b.answers = b.answers, answers[:0]
	return answers
}

func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.notify()
}

func (b *inbox) len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mail)
}

// notify wakes the shard's goroutine.
func (b *inbox) notify() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
