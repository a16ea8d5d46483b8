package mutants

// ofRooms are of what a ledger has that no check has been given yet.
func ofRooms() []Mutant { //nolint:funlen // a list
	story := func(test, says string) Hunt { return Hunt{Package: "./actor/owner", Run: "^" + test + "$", Says: says} }
	return []Mutant{
		{
			Name: "room of another plan",
			Why:  "what was written for a check of one plan is given to none of another: its tokens are of another length, or there is no place for them",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "return r.rule.SameNumbers(rule) && r.expires",
				New:  "return r.expires",
			}},
			Caught: []Hunt{story("TestOneWriteForAllPlans", `of plan 2: true`)},
		},
		{
			Name: "a room outlives its place",
			Why:  "a larger plan may spend what a room of a smaller one stood in; given all the same, the smaller plan admits more than it allows",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "(c.Extend != 0 || l.Free(now) >= 0 || l.place(now) >= c.Cost)",
				New:  "(c.Extend != 0 || l.Free(now) >= 0 || true)",
			}},
			Caught: []Hunt{story("TestRoomOfASmallerPlan", `is admitted, and 6`)},
		},
		{
			Name: "written for a check that is denied",
			Why:  "a ledger is written for a check once no other limit can be expected to deny it; before, whoever is denied again and again empties the bucket",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "\tcase certain:\n",
				New:  "\tdefault:\n",
			}},
			Caught: []Hunt{story("TestDeniedBurstTakesNothing", `is written`)},
		},
		{
			Name: "written in vain, and left",
			Why:  "what was written for a check that was late goes back soon; otherwise the bucket counts it, and its owner may be forgotten meanwhile",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "\tl.releaseSoon(now, cfg)\n",
				New:  "\t_ = cfg\n",
			}},
			Caught: []Hunt{story("TestWrittenTooLateGoesBack", `nothing was ever admitted`)},
		},
		{
			Name: "written unheard, and left",
			Why:  "a write of which no answer came may be stored; the claim that is told it has what no check was given go back",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "\t\tif own {\n",
				New:  "\t\tif own && false {\n",
			}},
			Caught: []Hunt{story("TestWrittenUnheardGoesBack", `once it was claimed twice`)},
		},
		{
			Name: "left out twice",
			Why:  "what goes back is left out of one write, and a later claim may be told of that; left out again, it takes away what somebody else was given",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "if l.as != l.latest {",
				New:  "if own {",
			}},
			Caught: []Hunt{story("TestLeftOutOnce", `and 6 were admitted`)},
		},
		{
			Name: "what comes back stays in memory",
			Why:  "what came back is written, if nobody is given it before; otherwise it is lost with its owner",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "\tl.releaseSoon(now, cfg)\n",
				New:  "\t_ = cfg\n",
			}},
			Caught: []Hunt{story("TestReturnedIsWritten", `a second after all came back`)},
		},
		{
			Name: "left beside rooms",
			Why:  "what a bucket has left is what a write would find, which takes back what no check was given",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "\t\t\tsum += r.amount\n",
				New:  "",
			}},
			Caught: []Hunt{story("TestWrittenTooLateGoesBack", `before it goes back`)},
		},
		{
			Name: "a write for each plan",
			Why:  "checks of several plans that wait together are written together; otherwise each of them waits for all before it",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "r.Register() == b.rule.Register() }); r >= 0 {",
				New:  "r.SameNumbers(b.rule) && r.Register() == b.rule.Register() }); r >= 0 {",
			}},
			Caught: []Hunt{story("TestOneWriteForAllPlans", `sen[dt]`)},
		},
		{
			Name: "a full list with a hold that goes back",
			Why:  "a hold that goes back takes nobody's place",
			Edits: []Edit{{
				File: "actor/owner/holding.go",
				Old:  "l.fullOfHolds(now)",
				New:  "l.FullOfHolds(now)",
			}},
			Caught: []Hunt{story("TestHoldThatGoesBackLeavesPlace", `overloaded`)},
		},
		{
			Name: "what came back of an entry that another owner wrote",
			Why:  "an admission stands in an entry of nobody once another owner has written the ledger; looked for among the owner's own, what it gives back is lost, or another one's",
			Edits: []Edit{{
				File: "actor/limit/enter.go",
				Old:  "range [...]bool{mine, !mine} {",
				New:  "range [...]bool{mine} {",
			}},
			Caught: []Hunt{story("TestReturnedAfterAnotherOwner", `and one is spent`), story("TestReturnedBesideAHold", `are|one is spent`)},
		},
		{
			Name: "unheard, and nobody asks",
			Why:  "a write of which no answer came may be stored; it is looked for although nobody asks for the key again",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "slices.ContainsFunc(l.rooms, goes) || slices.ContainsFunc(l.taken, goes)",
				New:  "slices.ContainsFunc(l.rooms, goes)",
			}},
			Caught: []Hunt{story("TestUnheardAndNobodyAsks", `nothing was ever admitted`)},
		},
		{
			Name: "tried without a pause",
			Why:  "what goes back is tried less and less often while no replica answers; otherwise an outage makes every key send ten times a second",
			Edits: []Edit{{
				File: "actor/owner/permits.go",
				Old:  "cfg.Delta<<l.tries",
				New:  "cfg.Delta",
			}},
			Caught: []Hunt{story("TestGoesBackLessOftenInAnOutage", `messages in ten minutes`)},
		},
		{
			Name: "taken ahead for one burst",
			Why:  "a key that is busy in bursts keeps what it has taken ahead; given back after each, every burst waits for a write",
			Edits: []Edit{
				{File: "actor/owner/permits.go", Old: "r.ahead && now < b.load.at+horizon", New: "r.ahead && now < b.load.at+o.cfg.Delta"},
				{File: "actor/owner/ledger.go", Old: "soon = min(soon, now+horizon)", New: "soon = min(soon, now+cfg.Delta)"},
			},
			Caught: []Hunt{story("TestRoomIsKeptForThoseWhoComeAgain", `waited, and there were`)},
		},
		{
			Name: "what has ended comes back from others",
			Why:  "an entry has nothing to give once it has ended; taken out of that of another clock, others admit again what was admitted",
			Edits: []Edit{{
				File: "actor/limit/enter.go",
				Old:  "if own != mine && l.now >= l.counts.Ends(at) {",
				New:  "if false && l.now >= l.counts.Ends(at) {",
			}},
			Caught: []Hunt{story("TestNothingComesBackBehindTheWindow", `in one window by its clock`)},
		},
		{
			Name: "a freed hold is there twice",
			Why:  "what a hold had that was freed when it expired is free already; counted once more, a small plan is given what it has not",
			Edits: []Edit{{
				File: "actor/limit/enter.go",
				Old:  "return !l.holds[i].Freed",
				New:  "return true",
			}},
			Caught: []Hunt{story("TestFreedHoldIsThereOnce", `and 60 are spent`)},
		},
	}
}
