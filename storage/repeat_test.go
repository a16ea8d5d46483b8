package storage

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/jeton-dev/jeton/storage/datadir"
	"github.com/jeton-dev/jeton/storage/disktest"
	"github.com/jeton-dev/jeton/storage/register"
)

// A repetition that is decided in the same batch as the original writes nothing itself. It is still answered after the fsync
// of the original: its answer promises that the register is durable.
func TestRepetitionWaitsForTheFsync(t *testing.T) {
	var synced atomic.Bool // the journal, since both were handed in
	r := newRig(t, &disktest.Disk{FS: vfs.NewMem(), Step: func(o disktest.Operation) error {
		err := o.Do()
		if o.Kind == "sync" && strings.Contains(o.Path, datadir.JournalDir) {
			synced.Store(true)
		}
		return err
	}})
	s := r.open(t)
	m := r.segment("user", epoch, epoch+1)
	busy, gate := make(chan struct{}), make(chan struct{})
	s.push(job{look: func(error) { close(busy); <-gate }}) // so that the committer takes both at once
	await(t, busy, "the committer")
	var answered [2]chan struct{}
	for i := range answered {
		answered[i] = make(chan struct{})
		s.Reserve([]register.Reservation{m}, func(as []register.Answer, err error) {
			defer close(answered[i])
			if err != nil || as[0].Verdict != register.Accepted {
				t.Errorf("sending %d: %+v, %v", i+1, as, err)
			}
			if !synced.Load() {
				t.Errorf("sending %d is answered before the fsync", i+1)
			}
		})
	}
	synced.Store(false)
	close(gate)
	for _, done := range answered {
		await(t, done, "an answer")
	}
}
