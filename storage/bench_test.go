package storage

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jeton-dev/jeton/ring"
	"github.com/jeton-dev/jeton/storage/register"
)

// BenchmarkReserve measures batches on the real disk, one after another: each waits for its own fsync.
func BenchmarkReserve(b *testing.B) {
	for _, durability := range []Durability{Fsync, Memory} {
		for _, size := range []int{1, 64, 1000} {
			for _, keys := range []string{"new", "same"} {
				b.Run(fmt.Sprintf("%s/batch=%d/keys=%s", durability, size, keys), func(b *testing.B) {
					benchmarkReserve(b, durability, size, keys == "same")
				})
			}
		}
	}
}

func benchmarkReserve(b *testing.B, durability Durability, size int, same bool) {
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
	batch := make([]register.Reservation, size)
	for i := range batch {
		batch[i] = register.Reservation{
			Writer: register.Writer{1}, Epoch: ring.FirstEpoch, Now: now, Key: keyOf(i), Limit: "demo",
			From: now, To: now, Reach: reach,
		}
		batch[i].Partition = ring.PartitionOf(ring.Hash(batch[i].Key), ring.DefaultPartitions)
	}
	keys := size
	seq := uint64(0)
	done := make(chan error, 1)
	b.ReportAllocs()
	for b.Loop() {
		for i := range batch {
			m := &batch[i]
			seq++
			m.Seq = seq
			m.From, m.To = m.To, m.To+1
			if !same {
				m.Key, m.From, m.To = keyOf(keys), now, now+1
				m.Partition = ring.PartitionOf(ring.Hash(m.Key), ring.DefaultPartitions)
				keys++
			}
		}
		s.Reserve(batch, func(as []register.Answer, err error) {
			for _, a := range as {
				if a.Verdict != register.Accepted {
					err = fmt.Errorf("a reservation got %+v", a)
				}
			}
			done <- err
		})
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)*float64(b.N)/b.Elapsed().Seconds(), "registers/s")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
