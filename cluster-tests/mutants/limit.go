package mutants

// ofLimit are mutants of the arithmetic.
func ofLimit() []Mutant {
	return []Mutant{
		{
			Name: "time per token truncated",
			Why:  "the time per token is exact; cut to whole nanoseconds, 700 million tokens a second become a billion",
			Edits: []Edit{{
				File: "actor/limit/rule.go",
				Old:  "quo, rem, ok := mulDiv(uint64(cost), p, n)",
				New:  "quo, rem, ok := mulDiv(uint64(cost), p/n, 1)",
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
	}
}
