package owner

import "testing"

// A bucket knows the same of its replicas at rest and in a talk, and rests only if it does.
func TestRestForgetsNothing(t *testing.T) {
	cfg := &Config{Replicas: 3}
	said := []reported{{}, {0, 5}, {0, 7}, {9, 5}, {9, 7}}
	rests := 0
	for _, held := range []reported{{0, 0}, {0, 7}, {9, 7}} {
		for i := range len(said) * len(said) * len(said) {
			want := [MaxReplicas]reported{said[i%5], said[i/5%5], said[i/25]}
			b, out := &bucket{gen: held.generation, held: segment{to: held.position}}, &Out{}
			b.startReplication(out).reported = want
			b.settle(cfg, out)
			if b.replication() == nil {
				rests++
			}
			for range 2 {
				for k := range want {
					if got := b.latest(k); got != want[k] {
						t.Fatalf("holding %v: replica %d said %v, want %v", held, k, got, want[k])
					}
				}
				if b.startReplication(out).reported != want {
					t.Fatalf("holding %v: in a talk again, %v, want %v", held, b.replication().reported, want)
				}
			}
		}
	}
	if want := 1 + 8 + 8; rests != want { // each replica has said either nothing or what is held
		t.Errorf("%d rest, want %d", rests, want)
	}
}

// Whatever else there is to a talk keeps it, but for its next retry when nothing was refused since.
func TestTalkGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*replication)
		rests  bool
	}{
		"nothing":   {func(*replication) {}, true},
		"in flight": {func(t *replication) { t.pending = &t.flight }, false},
		"refused":   {func(t *replication) { t.refused = &refusal{} }, false},
		"next":      {func(t *replication) { t.next = segment{1, 2} }, false},
		"tries":     {func(t *replication) { t.tries = 1 }, false},
		"skewed":    {func(t *replication) { t.skewed = true }, false},
		"paused":    {func(t *replication) { t.paused = true }, false},
		"retry":     {func(t *replication) { t.retryAt = 1 }, true},
	} {
		b, out := &bucket{}, &Out{}
		c.change(b.startReplication(out))
		b.settle(&Config{Replicas: 1}, out)
		if rests := b.extra == nil; rests != c.rests {
			t.Errorf("%s: the bucket rests is %v, want %v", name, rests, c.rests)
		}
		if rests := len(out.reusable.replications) == 1; rests != c.rests {
			t.Errorf("%s: its memory is given back is %v, want %v", name, rests, c.rests)
		}
	}
}
