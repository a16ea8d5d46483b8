package rpc

import (
	"testing"
	"time"

	"github.com/jeton-dev/jeton/actor/limit"
	"github.com/jeton-dev/jeton/rpc/client"
	"github.com/jeton-dev/jeton/rpc/pb"
)

// BenchmarkThreeKeys reports what a request of three keys costs that are decided from memory: as three checks of which nothing can be
// given back, in one batch, and all or none; asked in the process, over loopback by the Go client, and of the node. The last ones are
// denied by the third key, so that two are given back.
func BenchmarkThreeKeys(b *testing.B) {
	system := newSystem(b)
	_, conn := serve(b, Config{Limiter: system})
	remote, err := client.New(client.Config{Server: conn.CanonicalTarget()[len("passthrough:///"):], Timeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = remote.Close() })
	ask := pb.NewLimiterClient(conn)
	rs := []limit.Request{spendDemo("ip:192.0.2.7", 1), spendDemo("user:42", 1), spendDemo("org:acme", 1)}
	denied := []limit.Request{rs[0], rs[1], spendDemo("org:acme", 2_000_000_000)}
	m := &pb.CheckAllRequest{}
	for _, r := range rs {
		m.Checks = append(m.Checks, pb.EncodeRequest(r))
	}
	single := func(l limit.Checker) func() bool {
		return func() bool {
			all := true
			for _, r := range rs {
				d, err := l.Check(b.Context(), r)
				all = all && err == nil && d.Allowed
			}
			return all
		}
	}
	together := func(l limit.AllChecker, rs []limit.Request, allowed bool) func() bool {
		return func() bool {
			d, err := l.CheckAll(b.Context(), rs)
			return err == nil && d.Allowed == allowed
		}
	}
	for _, way := range []struct {
		name string
		ask  func() bool
	}{
		{"in the process/three checks", single(system)},
		{"in the process/all or none", together(system, rs, true)},
		{"in the process/denied", together(system, denied, false)},
		{"by the client/three checks", single(remote)},
		{"by the client/one batch", func() bool {
			for _, r := range remote.CheckBatch(b.Context(), rs) {
				if r.Err != nil || !r.Decision.Allowed {
					return false
				}
			}
			return true
		}},
		{"by the client/all or none", together(remote, rs, true)},
		{"by the client/denied", together(remote, denied, false)},
		{"by the node/all or none", func() bool {
			d, err := ask.CheckAll(b.Context(), m)
			return err == nil && d.GetAllowed()
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !way.ask() {
					b.Fatal("it was answered otherwise")
				}
			}
		})
	}
}
