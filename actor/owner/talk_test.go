package owner

import "testing"

// A bucket knows the same of its replicas at rest and in a talk, and rests only if it does.
func TestRestForgetsNothing(t *testing.T) {
	cfg := &Config{Replicas: 3}
	said := []heard{{}, {0, 5}, {0, 7}, {9, 5}, {9, 7}}
	rests := 0
	for _, held := range []heard{{0, 0}, {0, 7}, {9, 7}} {
		for i := range len(said) * len(said) * len(said) {
			want := [MaxReplicas]heard{said[i%5], said[i/5%5], said[i/25]}
			b, out := &bucket{gen: held.generation, held: segment{to: held.position}}, &Out{}
			b.open(out).heard = want
			b.settleDown(cfg, out)
			if b.talk() == nil {
				rests++
			}
			for range 2 {
				for k := range want {
					if got := b.latest(k); got != want[k] {
						t.Fatalf("holding %v: replica %d said %v, want %v", held, k, got, want[k])
					}
				}
				if b.open(out).heard != want {
					t.Fatalf("holding %v: in a talk again, %v, want %v", held, b.talk().heard, want)
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
		change func(*talk)
		rests  bool
	}{
		"nothing":   {func(*talk) {}, true},
		"in flight": {func(t *talk) { t.pending = &t.flight }, false},
		"refused":   {func(t *talk) { t.refused = &refusal{} }, false},
		"next":      {func(t *talk) { t.next = segment{1, 2} }, false},
		"tries":     {func(t *talk) { t.tries = 1 }, false},
		"skewed":    {func(t *talk) { t.skewed = true }, false},
		"paused":    {func(t *talk) { t.paused = true }, false},
		"retry":     {func(t *talk) { t.retryAt = 1 }, true},
	} {
		b, out := &bucket{}, &Out{}
		c.change(b.open(out))
		b.settleDown(&Config{Replicas: 1}, out)
		if rests := b.extra == nil; rests != c.rests {
			t.Errorf("%s: the bucket rests is %v, want %v", name, rests, c.rests)
		}
		if rests := len(out.spare.talks) == 1; rests != c.rests {
			t.Errorf("%s: its memory is given back is %v, want %v", name, rests, c.rests)
		}
	}
}
