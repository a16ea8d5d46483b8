package storage

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// filled opens a Store on the real disk with so many registers, settled or not, in the partitions of their keys.
func filled(b *testing.B, durability Durability, registers int, settled bool) *Store {
	b.Helper()
	now := time.Now().UnixNano()
	s, err := Open(Config{
		Dir: b.TempDir(), Durability: durability, Now: func() int64 { return now }, Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = s.Found(b.Context())
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	byPartition := map[ring.Partition][]Exported{}
	for i := range registers {
		p := ring.PartitionOf(ring.Hash(keyOf(i)), ring.DefaultPartitions)
		byPartition[p] = append(byPartition[p], Exported{Key: keyOf(i), Limit: "demo", Register: register.Register{H: now, From: now - 1, Epoch: 1}})
	}
	for p, rs := range byPartition {
		if err := s.Merge(b.Context(), p, rs); err != nil {
			b.Fatal(err)
		}
	}
	if settled {
		if err := onCommitter(s, func() error { return flushAll(s) }); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkExport exports all partitions, one after the other: first everything, and then again, where nothing was written.
func BenchmarkExport(b *testing.B) {
	const registers = 200_000
	for name, c := range map[string]struct {
		durability Durability
		settled    bool
	}{"fsync/settled": {Fsync, true}, "fsync/fresh": {Fsync, false}, "memory": {Memory, false}} {
		b.Run(name, func(b *testing.B) {
			s := filled(b, c.durability, registers, c.settled)
			for b.Loop() {
				count := 0
				for p := range ring.Partition(ring.DefaultPartitions) {
					_, _, err := s.Export(b.Context(), p, nil, func(piece []Exported) error {
						count += len(piece)
						return nil
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				if count != registers {
					b.Fatalf("%d registers, want %d", count, registers)
				}
			}
			b.ReportMetric(float64(registers)*float64(b.N)/b.Elapsed().Seconds(), "registers/s")
		})
	}
}

// BenchmarkMerge merges registers that are new, or known already, in pieces as large as those of an export.
func BenchmarkMerge(b *testing.B) {
	for _, durability := range []Durability{Fsync, Memory} {
		for _, keys := range []string{"new", "same"} {
			b.Run(fmt.Sprintf("%s/keys=%s", durability, keys), func(b *testing.B) {
				s := filled(b, durability, 0, false)
				piece := make([]Exported, exportStepLen)
				n := int64(0)
				for b.Loop() {
					for i := range piece {
						if n++; keys == "new" || piece[i].Key == "" {
							piece[i] = Exported{Key: keyOf(int(n)), Limit: "demo"}
						}
						piece[i].Register = register.Register{H: epoch + n, From: epoch, Epoch: 1}
					}
					if err := s.Merge(b.Context(), ring.Partition(n%ring.DefaultPartitions), piece); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "registers/s")
			})
		}
	}
}

// BenchmarkReserveWithChangeLog measures what a change log costs a reservation.
func BenchmarkReserveWithChangeLog(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprintf("memory/recorded=%v", recorded), func(b *testing.B) {
			s := filled(b, Memory, 10_000, false)
			now := s.cfg.Now()
			batch := make([]register.Reservation, 1000)
			for i := range batch {
				batch[i] = register.Reservation{
					Epoch: 1, Key: keyOf(i), Partition: ring.PartitionOf(ring.Hash(keyOf(i)), ring.DefaultPartitions), Limit: "demo",
					From: now, To: now, Reach: reach,
				}
			}
			var took []time.Duration
			done := make(chan error, 1)
			for b.Loop() {
				if recorded {
					for p := range ring.Partition(ring.DefaultPartitions) {
						if s.changeLogs.byPartition[p] == nil {
							s.changeLogs.start(p)
						}
					}
				}
				for i := range batch {
					batch[i].From, batch[i].To = batch[i].To, batch[i].To+1
				}
				start := time.Now()
				s.Reserve(batch, func(_ []register.Answer, err error) { done <- err })
				if err := <-done; err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/float64(len(batch)), "median-ns/register")
		})
	}
}
