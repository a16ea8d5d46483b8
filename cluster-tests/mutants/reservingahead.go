package mutants

// ofReservingAhead breaks how much an owner reserves beyond what checks need, and where.
func ofReservingAhead() []Mutant { //nolint:funlen // a list
	return []Mutant{
		{
			Name: "ahead of the lost",
			Why:  "a reservation ahead skips nothing; begun where a check would begin, it burns line that no check has asked for",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "from := max(b.held.to, b.free(b.gen, all, nil, o.cfg), begin)",
				New:  "from := b.start(now, now, o.cfg)",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestReservingAheadSkipsNothing$", Says: `reserved ahead from`}},
		},
		{
			Name: "ahead of the window",
			Why:  "a busy key reserves what it could spend in Δ; Δ of line further, that is line of a window that does not begin for long, lost with the owner",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "return max(need, min(end, b.rule.Bound(t+cfg.Delta).Ceil()))",
				New:  "return max(need, min(end, b.rule.Bound(t).Ceil()+cfg.Delta))",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestAheadOfAWindowThatIsUsedUp$", Says: `before the next one begins`}},
		},
		{
			Name: "ahead again and again",
			Why:  "a reservation ahead that replicas refuse is tried a few times, and then left to a check that needs it: each try burns line at a replica that accepts it",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  " || now < t.retryAt || t.tries >= maxAheads {",
				New:  " || now < t.retryAt {",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestReservingAheadSkipsNothing$", Says: `in vain`}},
		},
		{
			Name: "no line for the next window",
			Why:  "a busy key reserves line of the window that begins within Δ, however much it holds of this one; otherwise its first check there waits",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "return left <= whole/4 || next-begin > cfg.Delta && b.held.to <= next",
				New:  "return left <= whole/4 || next < begin",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestAheadInWindows$", Says: `nothing of the next window is reserved`}},
		},
		{
			Name: "a reservation ahead beyond the window of a check that waited",
			Why:  "the owner of a busy key that reaches a check after its window's end leaves the next window to be reserved later; otherwise it gives up what the checks behind are to spend of the one before",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "if begin-b.rule.Begin(at) > now-at {",
				New:  "if begin-b.rule.Begin(at) > now {",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestAheadOfChecksOfAWindowThatHasEnded$", Says: `was denied`}},
		},
		{
			Name: "a reserve beside a rival",
			Why:  "where a rival is, an owner reserves what its checks need; the rival's checks would be denied because of line that nobody spends",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "if x != nil && (x.rivalAt != 0 || x.replication",
				New:  "if x != nil && (x.replication",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestSpareOnlyWhereNobodyElseIs$", Says: `want \(180ms, 240ms\]`}},
		},
		{
			Name: "a reserve for the first check",
			Why:  "a key that comes once reserves what it spends; more would be lost with its owner, and keep that awake",
			Edits: []Edit{{
				File: "actor/owner/load.go",
				Old:  "{ return l.soon(t) > float32(length.NS) }",
				New:  "{ return l.soon(t) > 0 || length.NS < 0 }",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestSpareIsOfWhatIsSpent$", Says: `want \(0s, 60ms\]`}},
		},
		{
			Name: "more than the reserve",
			Why:  "what a crash may cost a bucket is the limit's reserve, however much it will spend in the next seconds",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "return int64(min(float64(line), float64(most)))",
				New:  "return int64(min(float64(line), float64(2*most)))",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestWhatACrashMayCost$", Says: `of line would be lost`}},
		},
		{
			Name: "two reserves",
			Why:  "what is left of the segment that is held is lost as well as the next one: both together are no more than the limit's reserve",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "need := from - max(0, b.held.to-max(b.tat.Ceil(), begin))",
				New:  "need := from",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestWhatACrashMayCost$", Says: `of line would be lost`}},
		},
		{
			Name: "a reserve for days",
			Why:  "an owner stays awake for line that it holds; of a slow limit that would be for hours after two checks",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "	end = min(end+atMost(likely, most), passes)",
				New:  "	end += atMost(likely, most)\n	_ = passes",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestSpareKeepsNobodyAwake$", Says: `the owner stays awake`}},
		},
		{
			Name: "a busy bucket's reserve for days",
			Why:  "of a slow limit a busy bucket reserves what it spends in Δ; as much as its owner may lose, that is a day or more which a crash takes away long after the last check",
			Edits: []Edit{{
				File: "actor/owner/reserve.go",
				Old:  "passes = max(next+awakeFor, end+atMost(likely, most))",
				New:  "passes = 1 << 62",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestBusyBucketThatTakesLongToFill$", Says: `and 20 are spent in Δ`}},
		},
		{
			Name: "a frozen owner's reserve",
			Why:  "what another owner has reserved ahead at one replica is left out while that one is silent; waited for, it closes the bucket to a check that would take little of it",
			Edits: []Edit{{
				File: "actor/owner/free.go",
				Old:  "return b.rule.SpareLine() + max(",
				New:  "return max(",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestFrozenOwnerOfASpare$", Says: `check`}},
		},
	}
}
