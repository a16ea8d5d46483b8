package mutants

// ofLimit are mutants of the arithmetic.
func ofLimit() []Mutant { //nolint:funlen // a list
	return []Mutant{
		{
			Name: "time per token truncated",
			Why:  "the time per token is exact; cut to whole nanoseconds, 700 million tokens a second become a billion",
			Edits: []Edit{{
				File: "actor/limit/price.go",
				Old:  "quo, rem, ok := mulDiv(uint64(tokens), c.p, c.n)",
				New:  "quo, rem, ok := mulDiv(uint64(tokens), c.p/c.n, 1)",
			}},
			Caught: []Hunt{
				{Package: "./actor/limit", Run: "^TestDecideDoesNotTruncateTheTimePerToken$", Says: `admitted in a millisecond, want 700006`},
				{Package: "./actor/limit", Run: "^TestEveryWindowIsWithinItsAllowance$", Flags: rapid(), Says: `admitted in \[\d+, \d+\], .* allowed`},
			},
		},
		{
			Name: "bucket truncated",
			Why:  "a bucket holds exactly its capacity; cut to whole nanoseconds, its last token is never admitted",
			Edits: []Edit{{
				File: "actor/limit/rule.go",
				Old:  "r.tau = r.Length(l.Capacity)",
				New:  "r.tau = At(r.Length(l.Capacity).NS)",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestIdleBucketAdmitsItsCapacity$", Flags: rapid(), Says: `denied when \d+ were left`}},
		},
		{
			Name: "override without an end",
			Why:  "an override that was set for a time ends by itself; one that does not goes on giving a key more than its limit",
			Edits: []Edit{{
				File: "actor/limit/override.go",
				Old:  "return o.Until != 0 && o.Until <= t",
				New:  "return o.Until < 0 && o.Until <= t",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestOverridesAreFound$", Says: `the override of .* at \d+ is`}},
		},
		{
			Name: "floor of one plan",
			Why:  "a floor keeps what any plan or override of the limit may have reserved; by the asking one's own reach, it gives away line that a longer one holds",
			Edits: []Edit{{
				File: "actor/limit/rule.go",
				Old:  "return max(r.reach, r.lead)",
				New:  "return r.reach",
			}},
			Caught: []Hunt{
				{Package: "./actor/limit", Run: "^TestLeadOfVariants$", Says: `the limit reaches .* and leads`},
				{Package: "./actor/owner", Run: "^TestReservationsLeadByTheLongestPlan$", Says: `and leads .*, want 100s`},
			},
		},
		{
			Name: "aliases without end",
			Why:  "plans and overrides of a document are counted, with what aliases repeat; otherwise a small text takes the memory of every node",
			Edits: []Edit{{
				File: "actor/limit/document.go",
				Old:  "d.written > maxVariants",
				New:  "d.written < 0",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestAliasesAreCounted$", Says: `300 times 300: <nil>`}},
		},
		{
			Name: "prefixes of any length",
			Why:  "a check looks once for each length that prefixes of overrides have, so these are bounded; otherwise one tenant slows every check",
			Edits: []Edit{{
				File: "actor/limit/parse_variants.go",
				Old:  "len(lengths) > maxLengths",
				New:  "len(lengths) < 0",
			}, {
				File: "ring/agreed/overriding.go",
				Old:  "n > MaxLengths && n > before.Lengths(limit)",
				New:  "n < 0",
			}},
			Caught: []Hunt{
				{Package: "./actor/limit", Run: "^TestLengthsOfPrefixesInADocument$", Says: `error <nil> names no field`},
				{Package: "./ring/agreed", Run: "^TestLengthsOfPrefixesAreBounded$", Says: `one more length: <nil>`},
			},
		},
		{
			Name: "debt rounded down",
			Why:  "a limit that is changed keeps its debt, rounded up; rounded down, each change gives a little away",
			Edits: []Edit{{
				File: "actor/limit/rule.go",
				Old:  "return At(a.Ceil())",
				New:  "return At(a.NS)",
			}},
			Caught: []Hunt{
				{Package: "./actor/limit", Run: "^TestCarry$", Says: `is carried to .* want`},
				{Package: "./actor/limit", Run: "^TestCarryNeverLoosens$", Flags: rapid(), Says: `which moves it by`},
			},
		},
		{
			Name: "a window early",
			Why:  "a window spends line that lies ahead of it; a window earlier, that line has passed for floors and sweeps, and is given out again",
			Edits: []Edit{{
				File: "actor/limit/fixedwindow.go",
				Old:  "_, end := w.window(t)\n\treturn min(end, math.MaxInt64-1)",
				New:  "end, _ := w.window(t)\n\treturn min(end, math.MaxInt64-1)",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestEveryAlgorithmKeepsItsContract$/^fixed-window$", Flags: rapid(), Says: `the line begins at`}},
		},
		{
			Name: "the line of two windows",
			Why:  "a window spends its own line only; with that of the next one it admits twice its limit",
			Edits: []Edit{{
				File: "actor/limit/fixedwindow.go",
				Old:  "bound := add(At(w.Begin(t)), w.tau, 1)",
				New:  "bound := add(add(At(w.Begin(t)), w.tau, 1), w.tau, 1)",
			}},
			Caught: []Hunt{
				{Package: "./actor/limit", Run: "^TestFixedWindowIsACounter$", Flags: rapid(), Says: `the counter says`},
				{Package: "./actor/limit", Run: "^TestCalendarWindowIsACounter$", Flags: rapid(), Says: `the counter says`},
			},
		},
		{
			Name: "one register for all windows",
			Why:  "a position of one shape of windows says nothing about another; in one register, what was spent of a month blocks a minute for two months",
			Edits: []Edit{{
				File: "actor/limit/rule.go",
				Old:  "return cmp.Or(r.register, r.Name)",
				New:  "return cmp.Or(r.Name, r.register)",
			}},
			Caught: []Hunt{
				{Package: "./actor/limit", Run: "^TestRegisterNamesTheShape$", Says: `has the register`},
				{Package: "./actor/owner", Run: "^TestAnotherShapeBeginsAfresh$", Says: `was denied`},
			},
		},
	}
}
