package mutants

// ofRooms are of what a ledger has that no check has been given yet.
func ofRooms() []Mutant { //nolint:funlen // a list
	story := func(test, says string) Hunt { return Hunt{Package: "./actor/owner", Run: "^" + test + "$", Says: says} }
	vain := story("TestModelOfVain", `are left to another owner|are admitted of`)
	vain.Flags = []string{"-ledger-walks=200000"}
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
				Old:  "(c.Extend != 0 || l.Free(now) >= c.Cost)",
				New:  "c.Cost > 0",
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
				File: "actor/owner/ledger.go",
				Old:  "version > r.leftOut.from && !own",
				New:  "!own",
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
			Name: "rooms that were given",
			Why:  "decisions go by what checks were given, and a write takes back what no check was; with the rooms in it, they are never back",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "l.written, l.taken, l.version = d.bare, d.rooms, b.held.to",
				New:  "l.written, l.taken, l.version = d.full.Clone(nil), d.rooms, b.held.to",
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
			Name: "a list of holds that grows",
			Why:  "a full list drops a hold for a new one, and so does what the owner goes on from; otherwise what it stores next is too long",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "\t\td.bare.ListAs(d.full)\n",
				New:  "",
			}},
			Caught: []Hunt{story("TestListIsNeverTooLong", `and \d+ may be`)},
		},
		{
			Name: "in nobody's ledger",
			Why:  "what was written in vain for a check is left where it is in a ledger that another owner has written, which need not have it",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "r.since, r.maybe = noCheck, true",
				New:  "r.since = noCheck",
			}},
			Caught: []Hunt{vain},
		},
		{
			Name: "given during a write",
			Why:  "a check may be given a room while the ledger is written anew; what is written then counts it, too, or somebody else is given it again",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "if l.written != nil { // which has the room, too",
				New:  "if false {",
			}},
			Caught: []Hunt{vain},
		},
		{
			Name: "left out of another owner's ledger",
			Why:  "what comes back here is in a ledger that another owner has written from an earlier one, and goes out of that",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "return !r.maybe && version < r.leftOut.to",
				New:  "return false",
			}},
			Caught: []Hunt{story("TestReturnedLongAfterAnotherOwner", `and one is spent|what came back is lost`)},
		},
		{
			Name: "taken for stored",
			Why:  "a claim that is told of this owner's own write without what goes back may have heard of it from the only replica that has it: it is written once more",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "return r.id == 0 && !own && (r.since == noCheck && !r.stays(l.as) || queue)",
				New:  "return r.id == 0 && (r.since == noCheck && (own || !r.stays(l.as)) || queue && !own)",
			}},
			Caught: []Hunt{story("TestWrittenWithoutAndStoredAtAMinority", `of 10 are left to another owner`)},
		},
		{
			Name: "taken out where it is not",
			Why:  "what goes back is not in the write that left it out: taken out of that, it takes what others were given",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "return r.leftOut.from == 0 || version < r.leftOut.from || version > r.leftOut.from && !own",
				New:  "return true",
			}},
			Caught: []Hunt{story("TestWrittenWithoutOthersAreGiven", `are admitted of 10`)},
		},
		{
			Name: "writes in vain without a bound",
			Why:  "where another owner writes before each of its writes, an owner remembers what these were for, and goes through all of it each time",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "tooMany := len(l.rooms) - maxKept",
				New:  "tooMany := 0",
			}},
			Caught: []Hunt{story("TestWritesInVainHaveABound", `after 60`)},
		},
		{
			Name: "room without an id without a bound",
			Why:  "what was written in vain is of checks of windows, too, which have no ids",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "tooMany > 0 && goesBack(&r)",
				New:  "tooMany > 0 && r.id != 0 && goesBack(&r)",
			}},
			Caught: []Hunt{story("TestWhatWasWrittenInVainHasABound", `are left`)},
		},
		{
			Name: "room for small numbers alone",
			Why:  "a settlement may say that more was used than a hold has, and the list needs more bytes then: too many holds make a ledger that no replica takes",
			Edits: []Edit{{
				File: "actor/limit/holdlist.go",
				Old:  "varintLen(uint64(h.Amount)) + 8 + 8 + count + 1\n",
				New:  "varintLen(uint64(h.Amount)) + 8 + 8 + varintLen(uint64(2*h.Low.NS)) + 1\n",
			}},
			Caught: []Hunt{story("TestSettledListIsNoLarger", `of which replicas take`)},
		},
		{
			Name: "an entry that is too much to read",
			Why:  "two owners' entries of one time are one to the next owner, which no reader takes for a ledger if it is larger than entries can be",
			Edits: []Edit{{
				File: "actor/limit/ledgercodec.go",
				Old:  "b.Amount = min(b.Amount+e.Amount, int64(maxEntry))",
				New:  "b.Amount += e.Amount",
			}},
			Caught: []Hunt{story("TestMergedEntriesCanBeRead", `cannot be read`)},
		},
		{
			Name: "one unreadable ledger for all",
			Why:  "a ledger that cannot be read is an error of the checks that ask its limit, and of no others that wait",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "o.failOf(b, err, out)",
				New:  "o.fail(err, out)",
			}},
			Caught: []Hunt{story("TestUnreadableBesideAnotherLimit", `cannot be read`)},
		},
		{
			Name: "claimed for what goes back, and left",
			Why:  "what goes back is written as soon as the ledger is known; later, a busy owner elsewhere has claimed it again, each time",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "if l.tries > 0 && l.unclaimed() {",
				New:  "if false {",
			}},
			Caught: []Hunt{story("TestUnclaimedPermitBesideABusyOwner", `nobody is inside|messages beside`)},
		},
		{
			Name: "a failed reset forgets",
			Why:  "what came back before a reset is in the ledger still if the reset comes to nothing",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "l.goBack(none) // should",
				New:  "l.forgetRooms() // should",
			}},
			Caught: []Hunt{story("TestReturnedBesideAResetThatFails", `and the reset failed`)},
		},
		{
			Name: "nothing goes back beside a busy limit",
			Why:  "checks of another limit that wait do not need what goes back; waited for, it never does while they come",
			Edits: []Edit{{
				File: "actor/owner/permits.go",
				Old:  "case o.awaited(b):\n",
				New:  "case o.Waiting() > 0:\n",
			}},
			Caught: []Hunt{story("TestUnclaimedBesideABusyLimit", `after half a minute`)},
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
	}
}
