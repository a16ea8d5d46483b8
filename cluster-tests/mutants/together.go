package mutants

// ofTogether are mutants of the checks of several keys that one request needs.
func ofTogether() []Mutant {
	return []Mutant{
		{
			Name: "a denied request keeps what it took",
			Why:  "what was taken is given back when a later key denies; kept, requests that are denied empty the buckets of all keys before",
			Edits: []Edit{{
				File: "actor/limit/checkall.go",
				Old:  "if t.kept || len(t.Taken) == 0 {",
				New:  "if len(t.Taken) >= 0 {",
			}},
			Caught: []Hunt{
				{Package: "./actor/together", Run: "^TestAllOrNothingUnderFaults$", Flags: rapid(), Says: `has \d+ left: admitted \d+, lost \d+, so \d+ should be`},
				{Package: "./gateway", Run: "^TestKeysGiveBack$", Says: `\d+ of 100 remain, want 98`},
				{Package: "./cmd/node", Run: "^TestTogether$", Says: `what was taken is not given back`},
			},
		},
		{
			Name: "an admitted request is given back",
			Why:  "what an admitted request took stays taken; given back, each request is free and no key has a limit",
			Edits: []Edit{{
				File: "actor/limit/checkall.go",
				Old:  "func (t *Taking[T]) Keep() { t.kept = true }",
				New:  "func (t *Taking[T]) Keep() { t.kept = len(t.Taken) == 0 }",
			}},
			Caught: []Hunt{
				{Package: "./actor/together", Run: "^TestAllOrNothingUnderFaults$", Flags: rapid(), Says: `has \d+ left: admitted \d+, lost \d+, so -?\d+ should be`},
				{Package: "./gateway", Run: "^TestKeysGiveBack$", Says: `100 of 100 remain, want 98`},
				{Package: "./cmd/node", Run: "^TestTogetherThroughPowerCuts$", Says: `whole requests spent \d+, and \d+ were left, of 20`},
			},
		},
		{
			Name: "the last key decides",
			Why:  "a request of several keys is admitted if all of them admit it; if the last one does, the others are overdrawn",
			Edits: []Edit{{
				File: "actor/together/together.go",
				Old:  "if !d.Allowed {",
				New:  "if !d.Allowed && i == len(plan.Checks)-1 {",
			}},
			Caught: []Hunt{
				{Package: "./actor/together", Run: "^TestAllOrNothingUnderFaults$", Flags: rapid(), Says: `has \d+ left: admitted \d+, lost \d+, so -?\d+ should be`},
				{Package: "./actor", Run: "^TestConformance$", Says: `allowed true|left after \d+ whole requests|got  \{Allowed:true`},
			},
		},
		{
			Name: "checks in the middle ask for no receipts",
			Why:  "only a receipt gives back; a check whose receipt is not asked for keeps what it took",
			Edits: []Edit{{
				File: "actor/limit/checkall.go",
				Old:  "for i := range p.Checks[:len(p.Checks)-1] {",
				New:  "for i := range p.Checks[:1] {",
			}},
			Caught: []Hunt{
				{Package: "./actor/together", Run: "^TestErrorInTheMiddle$", Says: `10 and 8 of 10 are left`},
				{Package: "./actor/limit", Run: "^TestPlanAllMerges$", Says: `the checks are`},
			},
		},
	}
}
