package storage

import "iter"

// A list grows in chunks. Appending to a slice of a few hundred thousand elements copies it, and a goroutine that allocates
// much memory during a garbage collection must assist it first: the committer must not be held up for that long.
type list[T any] struct{ chunks [][]T }

// chunkLen is the length of each chunk but the last.
const chunkLen = 4096

func (l *list[T]) add(v T) {
	if last := len(l.chunks) - 1; last < 0 || len(l.chunks[last]) == chunkLen {
		l.chunks = append(l.chunks, nil)
	}
	last := &l.chunks[len(l.chunks)-1]
	*last = append(*last, v)
}

func (l *list[T]) len() int {
	if len(l.chunks) == 0 {
		return 0
	}
	return (len(l.chunks)-1)*chunkLen + len(l.chunks[len(l.chunks)-1])
}

func (l *list[T]) at(i int) *T { return &l.chunks[i/chunkLen][i%chunkLen] }

func (l *list[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, chunk := range l.chunks {
			for i := range chunk {
				if !yield(&chunk[i]) {
					return
				}
			}
		}
	}
}
