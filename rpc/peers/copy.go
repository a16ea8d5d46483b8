package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/internal/fault"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	reg "github.com/jeton-dev/jeton/storage/register"
)

// copies fetch registers of other nodes into the own store, when the replica set of a partition changes:
//
//	source ─▶ Export ─▶ store.Merge ─┐
//	source ─▶ Export ─▶ store.Merge ─┼─▶ the sources' states ─▶ reg.Join ─▶ store.Install
//	own store, if it is a source ────┘
//
// Copy does the first half ahead of time, while checks go on. How far it came is noted for every source, so that Install
// fetches only what was written since, and the partition is sealed for a moment only.
type copies struct {
	cfg ServiceConfig

	mu         sync.Mutex
	partitions map[ring.Partition]*copied
}

func newCopies(cfg ServiceConfig) *copies {
	return &copies{cfg: cfg, partitions: map[ring.Partition]*copied{}}
}

// copied is what has been copied of one partition.
type copied struct {
	turn chan struct{} // holds a token while no copy of the partition is under way

	// Owned by the goroutine that has taken the token.
	state   reg.Partition     // the own store's, when the first of cursors was noted
	cursors map[string][]byte // by source: what was exported before that has been merged
}

// begin waits until no other copy of the partition is under way. end must follow.
func (c *copies) begin(ctx context.Context, p ring.Partition) (*copied, error) {
	c.mu.Lock()
	of := c.partitions[p]
	if of == nil {
		of = &copied{turn: make(chan struct{}, 1), cursors: map[string][]byte{}}
		of.end()
		c.partitions[p] = of
	}
	c.mu.Unlock()
	select {
	case <-of.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return of, nil
}

func (of *copied) end() { of.turn <- struct{}{} }

// sameRegisters says whether a partition that was in the one state and is in the other can have lost registers between.
func sameRegisters(a, b reg.Partition) bool {
	a.Sealed, a.Floored, a.Floor, a.Horizon = b.Sealed, b.Floored, b.Floor, b.Horizon
	return a == b
}

// A fetched is what came of one source.
type fetched struct {
	source    string
	registers uint64
	cursor    []byte        // nil of the own store
	state     reg.Partition // of the source, when the export was made
	err       error
}

// fetch merges what every source has, each as fast as it can, into the store. Each is handed to heard, one after the other;
// when heard wants no more, the rest are broken off. On return all of them have ended.
func (c *copies) fetch(ctx context.Context, p ring.Partition, of *copied, sources []string, heard func(fetched) (enough bool)) error {
	// From here on the store notices when the partition is dropped, and does not install it, even if nothing is merged: the
	// own registers may be all that there is.
	if err := c.cfg.Store.Merge(ctx, p, nil); err != nil {
		return err
	}
	// Registers of a partition whose state has changed may be gone: what was copied counts only in the state it was copied in.
	if state := c.cfg.Store.Partition(p); !sameRegisters(state, of.state) {
		clear(of.cursors)
		of.state = state
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan fetched, len(sources))
	for _, source := range sources {
		since := slices.Clone(of.cursors[source])
		go func() {
			f := fetched{source: source}
			if err := fault.Safely(c.cfg.Panics, func() error { return c.fetchOne(ctx, p, since, &f) }); err != nil {
				f.err = err
			}
			results <- f
		}()
	}
	over := false
	for range sources {
		f := <-results
		if f.err == nil && f.cursor != nil {
			of.cursors[f.source] = f.cursor
		}
		if !over && heard(f) {
			over = true
			cancel()
		}
	}
	return nil
}

// fetchOne merges what a source has since then.
func (c *copies) fetchOne(ctx context.Context, p ring.Partition, since []byte, f *fetched) (err error) {
	if c.own(f.source) {
		f.state = c.cfg.Store.Partition(p)
		return nil
	}
	f.cursor, f.state, err = c.cfg.Client.export(ctx, f.source, p, since, func(rs []storage.Exported) error {
		f.registers += uint64(len(rs))
		return c.cfg.Store.Merge(ctx, p, rs)
	})
	return err
}

// own says whether a source is this node: the one that is named, or any node at its address.
func (c *copies) own(source string) bool {
	id, address, err := ring.CutNode(source)
	if err != nil || id == (ring.NodeID{}) {
		return address == c.cfg.Address
	}
	return id == c.cfg.Client.cfg.ID
}

// maxSources is how many sources a request may name: no partition has as many replicas, before and after a change.
const maxSources = 32

// checkSources are the addresses of a request, each once: a source must not be counted twice.
func checkSources(sources []string) ([]string, error) {
	refuse := func(problem string) error { return &limit.FieldError{Field: "sources", Problem: problem} }
	if len(sources) == 0 || slices.Contains(sources, "") {
		return nil, refuse("needs at least one gRPC address, and none may be empty")
	}
	if len(sources) > maxSources {
		return nil, refuse(fmt.Sprintf("%d are too many: at most %d", len(sources), maxSources))
	}
	for _, source := range sources {
		_, address, err := ring.CutNode(source)
		if err != nil || len(address) > maxAddress || !utf8.ValidString(address) {
			return nil, refuse(fmt.Sprintf("%.64q is not the gRPC address of a node: use host:port or id@host:port", source))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(sources))), nil
}

// install fetches what the sources have and installs the partition.
func (c *copies) install(
	ctx context.Context, p ring.Partition, of *copied, epoch uint64, enough int, sources []string,
) (registers uint64, err error) {
	var states []reg.Partition
	var problems []error
	err = c.fetch(ctx, p, of, sources, func(f fetched) bool {
		registers += f.registers
		if f.err != nil {
			problems = append(problems, f.err)
			return false
		}
		states = append(states, f.state)
		join, err := reg.Join(states, enough, epoch)
		return err == nil && !join.Floored
	})
	if err != nil {
		return registers, err
	}
	join, err := reg.Join(states, enough, epoch)
	if err != nil {
		return registers, errors.Join(append([]error{err}, problems...)...)
	}
	return registers, c.cfg.Store.Install(ctx, p, epoch, join)
}

// installed says whether a partition's registers are complete for that epoch already: no number of sealed members is enough,
// so that it must be.
func installed(state reg.Partition, epoch uint64) bool {
	if state.Epoch == epoch && epoch > 0 && !state.Incomplete {
		return true // also where it is installed for the next one already, which must not wait behind this
	}
	_, err := reg.Join([]reg.Partition{state}, math.MaxInt, epoch)
	return err == nil
}
