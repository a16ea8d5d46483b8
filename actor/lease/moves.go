package lease

// maxMoves is how many of the last pieces that came back a bucket remembers. What came back before them counts as if it had lain before all that was spent since: a piece
// may then come back for less, never for more.
const maxMoves = 64

// moves are the pieces that came back to a bucket, in their order. All line behind each is so much nearer since then.
type moves struct {
	n    int // how many there ever were
	last []move
}

// A move is one piece that came back.
type move struct{ from, length int64 }

func (m *moves) add(from, length int64) {
	if m.n++; len(m.last) < maxMoves {
		m.last = append(m.last, move{from, length})
		return
	}
	oldest := m.last[0]
	copy(m.last, m.last[1:])
	m.last[maxMoves-1] = move{from, length}
	m.last[0].length += oldest.length // of both, what lies behind one of them is nearer
	m.last[0].from = min(m.last[0].from, oldest.from)
}

// since is how much nearer a piece is that lay at a time when so many pieces had come back.
func (m *moves) since(n int, at int64) (nearer int64) {
	for i := max(n-(m.n-len(m.last)), 0); i < len(m.last); i++ {
		if at-nearer >= m.last[i].from {
			nearer += m.last[i].length
		}
	}
	return nearer
}
