package nodes

import (
	"sync"
	"sync/atomic"
	"time"
)

// diagnoseEvery is how often an address that cannot be asked is looked at.
const diagnoseEvery = 5 * time.Second

// A Diagnosis is what keeps an address from being asked over gRPC, as far as that is to be seen from outside.
type Diagnosis struct {
	Wrong  string // in words for people; empty for nothing that is known
	Silent bool   // the address takes connections and says nothing: a node of the table, or that has answered before, is frozen
}

// A MisdirectedError says in words for people what is wrong with an address: it is not where a node takes checks, or TLS is on one
// side only. It is what the call met, too.
type MisdirectedError struct {
	wrong string
	err   error
}

func (e *MisdirectedError) Error() string { return e.wrong }
func (e *MisdirectedError) Unwrap() error { return e.err }

// diagnosed is what is known of a node's address. It is looked at only after an error.
type diagnosed struct {
	wrong atomic.Pointer[string] // nil for nothing that is known
	spoke atomic.Bool            // the node has answered once
	mu    sync.Mutex             // held during a look
	at    time.Time              // when the last look began; guarded by mu
}

// clear forgets what was wrong: the node has answered.
func (d *diagnosed) clear() {
	if !d.spoke.Load() {
		d.spoke.Store(true)
	}
	if d.wrong.Load() != nil {
		d.wrong.Store(nil)
	}
}

// look has find look at the address, if the last look is diagnoseEvery ago. A silent address counts as wrong only if silentIsWrong and no
// node has ever answered there: otherwise its node is frozen.
func (d *diagnosed) look(find func() Diagnosis, silentIsWrong bool) {
	if !d.mu.TryLock() {
		return
	}
	defer d.mu.Unlock()
	if !d.at.IsZero() && time.Since(d.at) < diagnoseEvery {
		return
	}
	d.at = time.Now()
	found := find()
	if found.Wrong == "" || found.Silent && (d.spoke.Load() || !silentIsWrong) {
		d.wrong.Store(nil)
	} else {
		d.wrong.Store(&found.Wrong)
	}
}
