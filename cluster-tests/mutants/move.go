package mutants

// ofMove are mutants of how a replica set is changed.
func ofMove() []Mutant {
	forgets := Hunt{Package: "./ring/move", Run: "^TestMovesForgetNothingAndEnd$", Flags: rapid(), Says: `are sealed|have installed|.`}
	return []Mutant{
		{
			Name: "too few seals",
			Why:  "so many old members seal that every majority has one among them; with fewer, a majority goes on, and is forgotten",
			Edits: []Edit{{
				File: "ring/move/steps.go",
				Old:  "return len(m.seals.done(m.place.Replicas)) >= ring.Enough(len(m.place.Replicas))",
				New:  "return len(m.seals.done(m.place.Replicas)) >= 1",
			}},
			Caught: []Hunt{forgets},
		},
		{
			Name: "a commit before the installs",
			Why:  "an epoch begins when W of its members have installed; begun earlier, it may never answer, or answer without the registers",
			Edits: []Edit{{
				File: "ring/move/steps.go",
				Old:  "return len(m.installs.done(m.place.Next)) >= ring.Majority(len(m.place.Next))",
				New:  "return len(m.installs.done(m.place.Next)) >= 1",
			}},
			Caught: []Hunt{forgets},
		},
		{
			Name: "enough is one",
			Why:  "an install needs enough sealed sources; from one alone it lacks what the others accepted",
			Edits: []Edit{{
				File: "ring/move/steps.go",
				Old:  "Enough: ring.Enough(len(p.Replicas)), Sources: sources",
				New:  "Enough: 1, Sources: sources",
			}},
			Caught: []Hunt{forgets},
		},
		{
			Name: "installs that do not wait for a member without a floor",
			Why: "a replica that has lost what it knew counts every bucket as empty for a while; the next epoch does so too if it is among the few that are " +
				"asked, though others know all",
			Edits: []Edit{{
				File: "ring/move/steps.go",
				Old:  "return m.enoughSealed() && (exact >= enough || exact+awaited < enough)",
				New:  "return m.enoughSealed() && (exact >= 0 || exact+awaited < enough)",
			}},
			Caught: []Hunt{
				{Package: "./ring/move", Run: "^TestMovesForgetNothingAndEnd$", Flags: rapid(), Says: `with a floor`},
				{Package: "./ring/move", Run: "^TestFloorWaitsForTheOtherSeals$", Says: `it wants`},
				{Package: "./ring/cluster/driver", Run: "^TestDriverLeavesAFloorBehind$", Says: `has a floor in partition`},
			},
		},
	}
}
