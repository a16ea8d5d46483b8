package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jeton-dev/jeton/actor/clock"
	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage"
	"github.com/jeton-dev/jeton/storage/register"
)

// fsyncsPerSecond counts the commits of a node, each an fsync, while one key is checked 10,000 times a second.
func fsyncsPerSecond(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	l := Load{Limit: limitFor(false), Keys: One, Rate: 10_000, Duration: t.duration()}
	if err := l.check(); err != nil {
		return nil, err
	}
	n, err := t.startNode(ctx, filepath.Join(folder, "node"), d)
	if err != nil {
		return nil, err
	}
	defer n.stop()
	s, err := dialer(dialRaw).over(ctx, "node", children{n.child}, []string{n.grpc}, l)
	if err != nil {
		return nil, err
	}
	defer s.service.close() //nolint:errcheck // everything was answered
	var rates []float64
	for i := range t.rounds() + 1 {
		before, err := n.metric(ctx, commits)
		if err != nil {
			return nil, err
		}
		report, err := s.measure(ctx, l)
		if err != nil {
			return nil, err
		}
		after, err := n.metric(ctx, commits)
		if err != nil {
			return nil, err
		}
		if report.Unmade > report.Calls/100 {
			return nil, fmt.Errorf("%d calls could not begin in time, and %d could: the machine is too busy for 10,000 a second",
				report.Unmade, report.Calls)
		}
		if i > 0 { // the first one was the warm-up
			rates = append(rates, (after-before)/report.Elapsed.Seconds())
		}
	}
	return []Spread[float64]{spreadOf(rates)}, nil
}

// commits is the metric that counts a node's commits; see storage.
const commits = "jeton_storage_commit_seconds_count"

// metric reads one of the node's metrics: its name, and its labels as they are written.
func (n *runningNode) metric(ctx context.Context, name string) (float64, error) {
	return metricAt(ctx, n.http, name)
}

// metricAt reads one of the metrics that are told at an address.
func metricAt(ctx context.Context, address, name string) (float64, error) {
	r, err := getAt(ctx, address, "/metrics")
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), name+" "); found {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, errors.Join(fmt.Errorf("%s has no metric %s", address, name), lines.Err())
}

func (n *runningNode) get(ctx context.Context, path string) (*http.Response, error) {
	return getAt(ctx, n.http, path)
}

func getAt(ctx context.Context, address, path string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(r)
}

const (
	idleRegisters = 10_000_000
	oneShots      = 5_000_000
	mib           = 1 << 20
)

// idleKeys starts a node on many registers of keys that are never asked about, and tells the seconds until it is ready, its
// memory in MiB and its goroutines.
func idleKeys(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	data := filepath.Join(folder, "node")
	t.say("writing %d registers", idleRegisters)
	store, err := storage.Open(storage.Config{Dir: data, Now: clock.New().Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	keys := makeKeys(idleRegisters)
	day := int64(24 * time.Hour)
	if err = store.Found(ctx); err == nil {
		err = reserve(ctx, store, keys, time.Now().UnixNano(), day)
	}
	err = errors.Join(err, store.Close())
	if err != nil {
		return nil, err
	}
	var ready, resident, goroutines []float64
	for range t.rounds() {
		n, err := t.startNode(ctx, data, d)
		if err != nil {
			return nil, err
		}
		values, err := n.idle(ctx)
		n.stop()
		if err != nil {
			return nil, err
		}
		ready, resident, goroutines = append(ready, values[0]), append(resident, values[1]), append(goroutines, values[2])
	}
	return []Spread[float64]{spreadOf(ready), spreadOf(resident), spreadOf(goroutines)}, nil
}

// idle waits until a node that was just started is ready, and tells the seconds that took, its memory in MiB and its
// goroutines.
func (n *runningNode) idle(ctx context.Context) (values [3]float64, err error) {
	for {
		r, err := n.get(ctx, "/readyz")
		if err != nil {
			return values, err
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			break
		}
		if err := n.alive(); err != nil {
			return values, err
		}
		pause(ctx, 5*time.Millisecond)
	}
	values[0] = time.Since(n.started).Seconds()
	if values[1], err = residentMiB(n.cmd.Process.Pid); err != nil {
		return values, err
	}
	values[2], err = n.metric(ctx, "go_goroutines")
	return values, err
}

// residentMiB is how much memory a process occupies.
func residentMiB(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("the memory of the node: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmRSS:"); found {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%d/status does not tell the memory of the node", pid)
}

// oneShotKeys writes registers of keys that are checked once, lets time pass until they have ended, and tells how much
// of the data directory two rounds of sweeping leave.
func oneShotKeys(ctx context.Context, t *Tabling, d storage.Durability) (spreads []Spread[float64], err error) {
	folder, remove, err := t.folder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	const sweepEvery = time.Minute // the last keys are settled after half of it
	var ahead atomic.Int64
	now := clock.New().Now
	store, err := storage.Open(storage.Config{
		Dir: filepath.Join(folder, "data"), Durability: d, Now: func() int64 { return now() + ahead.Load() },
		SweepEvery: sweepEvery, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.Found(ctx); err != nil {
		return nil, err
	}
	keys := makeKeys(oneShots)
	t.say("writing %d registers", oneShots)
	// They end in ten minutes: none is swept while others are still being written.
	if err := reserve(ctx, store, keys, now(), int64(10*time.Minute)); err != nil {
		return nil, err
	}
	before, err := size(folder)
	if err != nil {
		return nil, err
	}
	t.say("an hour passes")
	ahead.Store(int64(time.Hour))
	pause(ctx, 2*sweepEvery)
	if err := waitUntilSwept(ctx, store, keys); err != nil {
		return nil, err
	}
	pause(ctx, 5*time.Second) // in which Pebble drops the tables
	after, err := size(folder)
	return []Spread[float64]{
		spreadOf([]float64{100 * after / before}), spreadOf([]float64{before / mib}), spreadOf([]float64{after / mib}),
	}, err
}

// sweptWithin bounds how long sweeping is waited for.
const sweptWithin = 10 * time.Minute

// waitUntilSwept returns when the last keys have no registers any more.
func waitUntilSwept(ctx context.Context, store *storage.Store, keys []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, sweptWithin, fmt.Errorf("spent registers were not swept within %v", sweptWithin))
	defer cancel()
	for _, key := range keys[len(keys)-10*ring.DefaultPartitions:] {
		for {
			l, err := store.Look(ctx, partitionOf(key), key, onceLimit)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			if !l.Exists {
				break
			}
			pause(ctx, 100*time.Millisecond)
		}
	}
	return nil
}

func partitionOf(key string) ring.Partition {
	return ring.PartitionOf(ring.Hash(key), ring.DefaultPartitions)
}

// reserve writes a register for each key, all of the same segment. Several batches are under way, so that the store can put
// many into one commit.
func reserve(ctx context.Context, store *storage.Store, keys []string, from, length int64) error {
	const underWay, batch = 16, 1000
	results := make(chan error, underWay)
	var errs []error
	started, ended := 0, 0
	for at := 0; at < len(keys) && len(errs) == 0; at += batch {
		if ctx.Err() != nil {
			errs = append(errs, errInterrupted)
			break
		}
		if started++; started > underWay {
			if err := <-results; err != nil {
				errs = append(errs, err)
			}
			ended++
		}
		store.Reserve(reservations(keys[at:min(at+batch, len(keys))], uint64(at), from, length), func(as []register.Answer, err error) {
			for _, a := range as {
				if a.Verdict != register.Accepted {
					err = fmt.Errorf("a reservation was refused: %+v", a)
				}
			}
			results <- err
		})
	}
	for ; ended < started; ended++ {
		if err := <-results; err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// reservations are those of one batch, numbered from seq on.
func reservations(keys []string, seq uint64, from, length int64) []register.Reservation {
	rs := make([]register.Reservation, len(keys))
	for i, key := range keys {
		rs[i] = register.Reservation{
			Writer: register.Writer{1}, Seq: seq + uint64(i) + 1, Epoch: ring.FirstEpoch, Partition: partitionOf(key),
			Key: key, Limit: onceLimit, From: from, To: from + length, Reach: length,
		}
	}
	return rs
}

// size is how many bytes the files in a folder hold.
func size(folder string) (float64, error) {
	bytes := int64(0)
	err := filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // the store has removed it meanwhile
			return nil
		case err != nil || entry.IsDir():
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return err
	})
	return float64(bytes), err
}
