package storage

import "iter"

// A list grows by pieces. A slice of a few hundred thousand would be copied as it grows, and whoever needs much memory at
// once while Go looks for garbage has to help it first: the committer must not stop for that long.
type list[T any] struct{ pieces [][]T }

// pieceLen is how many are in each piece but the last.
const pieceLen = 4096

func (l *list[T]) add(v T) {
	if last := len(l.pieces) - 1; last < 0 || len(l.pieces[last]) == pieceLen {
		l.pieces = append(l.pieces, nil)
	}
	last := &l.pieces[len(l.pieces)-1]
	*last = append(*last, v)
}

func (l *list[T]) len() int {
	if len(l.pieces) == 0 {
		return 0
	}
	return (len(l.pieces)-1)*pieceLen + len(l.pieces[len(l.pieces)-1])
}

func (l *list[T]) at(i int) *T { return &l.pieces[i/pieceLen][i%pieceLen] }

func (l *list[T]) all() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, piece := range l.pieces {
			for i := range piece {
				if !yield(&piece[i]) {
					return
				}
			}
		}
	}
}
