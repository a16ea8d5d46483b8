package simulate

import (
	"slices"
	"time"
)

const day = 24 * time.Hour

// grains are how long a cell of a series may be: each is a multiple of the one before.
var grains = []time.Duration{
	10 * time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
	15 * time.Minute, time.Hour, 6 * time.Hour, day, 7 * day, 28 * day, 364 * day,
}

// maxCells bounds a series. It is far more than a chart has columns.
const maxCells = 4096

// steps are how long a column of a chart may be, whatever of them is a multiple of the series' cells.
var steps = []time.Duration{
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second,
	time.Minute, 2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	40 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 28 * day, 182 * day, 364 * day,
}

// A series counts checks by time, in at most maxCells cells whose length grows with the time that a log spans.
type series struct {
	grain       int   // in grains
	start       int64 // of the first cell
	first, last int64 // times that were counted
	fractions   bool  // some time was no whole second
	asked       []int64
	denied      [][]int64 // of each candidate; as long as asked
}

func newSeries(candidates int) *series { return &series{denied: make([][]int64, candidates)} }

// length is that of a cell.
func (s *series) length() int64 { return int64(grains[s.grain]) }

// at is the cell of a time that is not before the last one.
func (s *series) at(t int64) int {
	if len(s.asked) == 0 {
		s.first, s.start = t, t-t%s.length()
	}
	s.last = t
	s.fractions = s.fractions || t%int64(time.Second) != 0
	for (t-s.start)/s.length() >= maxCells && s.grain+1 < len(grains) {
		s.coarsen()
	}
	cell := int((t - s.start) / s.length())
	if more := cell + 1 - len(s.asked); more > 0 {
		s.asked = append(s.asked, make([]int64, more)...)
		for i := range s.denied {
			s.denied[i] = append(s.denied[i], make([]int64, more)...)
		}
	}
	return cell
}

// coarsen makes the cells longer.
func (s *series) coarsen() {
	step := int64(grains[s.grain+1])
	asked := s.fold(s.asked, step)
	for i := range s.denied {
		s.denied[i] = s.fold(s.denied[i], step)
	}
	s.asked, s.start = asked, s.start-s.start%step
	s.grain++
}

// fold are the counts of pieces of time as long as a step, which is a multiple of the cells' length. The first piece begins at
// a multiple of it.
func (s *series) fold(counts []int64, step int64) []int64 {
	start := s.start - s.start%step
	folded := make([]int64, 0, len(counts))
	for i, n := range counts {
		at := int((s.start + int64(i)*s.length() - start) / step)
		if more := at + 1 - len(folded); more > 0 {
			folded = append(folded, make([]int64, more)...)
		}
		folded[at] += n
	}
	return folded
}

// divide is the step by which the time of the series has at most so many pieces, and where the first one begins.
func (s *series) divide(columns int) (step, first int64) {
	least := max(s.length(), int64(time.Second))
	if s.fractions {
		least = s.length()
	}
	fits := func(step int64) bool {
		return step >= least && step%s.length() == 0 && s.last/step-s.first/step < int64(columns)
	}
	at := slices.IndexFunc(steps, func(d time.Duration) bool { return fits(int64(d)) })
	if at >= 0 {
		step = int64(steps[at])
	} else {
		for step = int64(steps[len(steps)-1]); !fits(step); {
			step += int64(364 * day)
		}
	}
	return step, s.start - s.start%step
}
