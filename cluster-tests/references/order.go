package references

import "slices"

// order puts files so that few references run upwards. It starts from the greedy order of Eades, Lin and Smyth ("A fast and
// effective heuristic for the feedback arc set problem", 1993) and then moves single files to better places until no move
// helps. Without a cycle there is an order without upward references, and it is found. The result depends on nothing but the
// arguments.
func order(files []string, refers func(from, to string) bool) []string {
	edge := make([][]bool, len(files))
	for i := range files {
		edge[i] = make([]bool, len(files))
		for j := range files {
			edge[i][j] = i != j && refers(files[i], files[j])
		}
	}
	seq := improved(greedy(edge), edge)
	ordered := make([]string, len(seq))
	for i, f := range seq {
		ordered[i] = files[f]
	}
	return ordered
}

// greedy takes away what nobody refers to for the front, what refers to nothing for the back, and, where there is neither, the
// file that refers to most others beyond those that refer to it, for the front.
func greedy(edge [][]bool) []int {
	left := map[int]bool{}
	for i := range edge {
		left[i] = true
	}
	var front, back []int
	for len(left) > 0 {
		best, bestBy := -1, 0
		sink := -1
		for i := range edge {
			if !left[i] {
				continue
			}
			out, in := 0, 0
			for j := range left {
				if edge[i][j] {
					out++
				}
				if edge[j][i] {
					in++
				}
			}
			if in == 0 {
				out += len(edge) // a source: before everything
			} else if out == 0 && sink < 0 {
				sink = i
			}
			if best < 0 || out-in > bestBy {
				best, bestBy = i, out-in
			}
		}
		if sink >= 0 {
			back = append(back, sink)
			delete(left, sink)
			continue
		}
		front = append(front, best)
		delete(left, best)
	}
	slices.Reverse(back)
	return append(front, back...)
}

// improved moves one file at a time to where fewest references run upwards, until no move helps.
func improved(seq []int, edge [][]bool) []int {
	for again := true; again; {
		again = false
		for _, f := range slices.Clone(seq) {
			at := slices.Index(seq, f)
			rest := slices.Delete(slices.Clone(seq), at, at+1)
			if to := bestPlace(f, at, rest, edge); to != at {
				seq = slices.Insert(rest, to, f)
				again = true
			}
		}
	}
	return seq
}

// bestPlace is where in rest f has fewest upward references: at, where it is, unless another place has fewer.
func bestPlace(f, at int, rest []int, edge [][]bool) int {
	cost := make([]int, len(rest)+1) // by f's place
	for i, o := range rest {
		if edge[f][o] { // upwards where f stands below o
			for p := i + 1; p <= len(rest); p++ {
				cost[p]++
			}
		}
		if edge[o][f] { // upwards where f stands above o
			for p := 0; p <= i; p++ {
				cost[p]++
			}
		}
	}
	best := at
	for p, c := range cost {
		if c < cost[best] {
			best = p
		}
	}
	return best
}
