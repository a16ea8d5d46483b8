package denial

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestRecall remembers the newest denials, each under its id, and says of all others what became of them.
func TestRecall(t *testing.T) {
	for _, size := range []int{1, 2, 7} {
		m := NewMemory("edge", size)
		var records []*Record
		for i := range 30 {
			r := &Record{Key: fmt.Sprint(i), Attached: i}
			if id := m.Remember(r); id != r.ID || r.Gateway != "edge" {
				t.Fatalf("denial %d is %q of %q, but %q was returned", i, r.ID, r.Gateway, id)
			}
			records = append(records, r)
			for j, known := range records {
				got, err := m.Recall(known.ID)
				if remembered := j > i-size; remembered && (err != nil || got != known) || !remembered && !errors.Is(err, ErrForgotten) {
					t.Fatalf("%d places, denial %d of %d: %v and %v", size, j, i, got, err)
				}
			}
		}
		for _, id := range []string{"edge-1-aaaaaaaaaaaaaaaa", "edge-zz-" + strings.Repeat("a", 16)} {
			if _, err := m.Recall(id); !errors.Is(err, ErrForgotten) {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}

// TestRecallElsewhere names the gateway to ask.
func TestRecallElsewhere(t *testing.T) {
	here, there := NewMemory("edge", 0), NewMemory("Edge.2", 0)
	id := there.Remember(new(Record))
	if _, err := here.Recall(id); !errors.Is(err, ErrElsewhere) || !strings.Contains(err.Error(), "edge-2") {
		t.Errorf("%s: %v", id, err)
	}
	if name, err := GatewayOf(id); name != "edge-2" || err != nil {
		t.Errorf("%s is of %q with %v", id, name, err)
	}
	if _, err := here.Recall("what?"); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v", err)
	}
	if len(here.round) != defaultSize {
		t.Errorf("there is room for %d", len(here.round))
	}
}

// TestGuessing tries what can be told from an id: the number of the next denial is known, but not its id.
func TestGuessing(t *testing.T) {
	m := NewMemory("edge", 10)
	first := m.Remember(new(Record))
	second := m.Remember(new(Record))
	if !strings.HasPrefix(first, "edge-1-") || !strings.HasPrefix(second, "edge-2-") {
		t.Fatalf("ids %s and %s", first, second)
	}
	guess := "edge-2-" + strings.TrimPrefix(first, "edge-1-")
	if _, err := m.Recall(guess); !errors.Is(err, ErrForgotten) {
		t.Errorf("%s was guessed: %v", guess, err)
	}
	if _, err := NewMemory("edge", 10).Recall(first); !errors.Is(err, ErrForgotten) {
		t.Errorf("another life of the gateway: %v", err)
	}
}

// TestConcurrently remembers and recalls from many sides: no id is given twice, and what is found is what was asked for.
func TestConcurrently(t *testing.T) {
	const callers, each, size = 8, 500, 64
	m := NewMemory("edge", size)
	var mu sync.Mutex
	seen := map[string]bool{}
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for range each {
				id := m.Remember(new(Record))
				if r, err := m.Recall(id); err == nil && r.ID != id || err != nil && !errors.Is(err, ErrForgotten) {
					t.Errorf("%s: %+v and %v", id, r, err)
				}
				mu.Lock()
				if seen[id] {
					t.Errorf("%s was given twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	found := 0
	for id := range seen {
		if _, err := m.Recall(id); err == nil {
			found++
		}
	}
	if found != size {
		t.Errorf("%d are remembered, want %d", found, size)
	}
}

func BenchmarkRemember(b *testing.B) {
	m := NewMemory("edge", 0)
	b.ReportAllocs()
	for b.Loop() {
		m.Remember(new(Record))
	}
}

func BenchmarkRecall(b *testing.B) {
	m := NewMemory("edge", 0)
	id := m.Remember(new(Record))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Recall(id); err != nil {
			b.Fatal(err)
		}
	}
}
