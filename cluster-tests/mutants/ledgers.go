package mutants

// ofLedgers are mutants of limits that count entries.
func ofLedgers() []Mutant { //nolint:funlen // a list
	walks := func(setting string) Hunt {
		return Hunt{
			Package: "./actor/owner", Run: "^TestModelOfLedgers$/^" + setting + "$", Flags: []string{"-ledger-walks=200000"}, Says: `\d of \d in one window`,
		}
	}
	story := func(test, says string) Hunt { return Hunt{Package: "./actor/owner", Run: "^" + test + "$", Says: says} }
	return []Mutant{
		{
			Name: "given before it is stored",
			Why:  "a check is given what a majority has stored; given while that is under way, it is forgotten where the write is refused",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "l.written, l.taken, l.version = d.bare, d.rooms, b.held.to\n",
				New:  "l.add(d.rooms)\n\tl.Ledger, l.written, l.version = d.bare, d.bare.Clone(nil), b.held.to\n",
			}},
			Caught: []Hunt{walks("log")},
		},
		{
			Name: "written without a claim",
			Why:  "an owner reads the latest ledger before it writes one; without that, an owner that wakes writes over what others have admitted",
			Edits: []Edit{
				{File: "actor/owner/counting.go", Old: "return l.current && (l.knows", New: "return (l.knows"},
				{File: "actor/owner/counting.go", Old: "From: b.held.to, To: to, Background: background,", New: "From: l.claimFrom(b, now, o.cfg), To: l.claimFrom(b, now, o.cfg) + 1, Background: background,"},
			},
			Caught: []Hunt{walks("log")},
		},
		{
			Name: "the oldest ledger counts",
			Why:  "of what a majority tells, the highest version has all that was stored before it; any other lacks the newest admissions",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "if a.Version > l.as {",
				New:  "if l.as == 0 || a.Version < l.as {",
			}},
			Caught: []Hunt{walks("log")},
		},
		{
			Name: "others' clocks are one's own",
			Why:  "what another owner has entered counts longer, by as much as two clocks may differ; otherwise it ends too early for one that is ahead",
			Edits: []Edit{{
				File: "actor/limit/entries.go",
				Old:  "return l.counts.Ends(e.At) + l.late\n",
				New:  "return l.counts.Ends(e.At)\n",
			}},
			Caught: []Hunt{walks("clocks")},
		},
		{
			Name: "a walk for each denial",
			Why:  "what opens when is worked out once for all denials of a full ledger; for each anew, callers that are denied take the time of all others",
			Edits: []Edit{{
				File: "actor/limit/ledger.go",
				Old:  "if len(l.openings) == 0 {",
				New:  "if l.openings = l.openings[:0]; true {",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestDenialsOfAFullLedgerWalkItOnce$", Says: `denials of other costs asked \d+ times`}},
		},
		{
			Name: "a denial from long ago",
			Why:  "an owner that may not be the latest asks again before it denies; otherwise a place that came back elsewhere is denied for as long as checks come",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "return l.current && l.readAt >= t-l.trusted }",
				New:  "return l.current }",
			}},
			Caught: []Hunt{story("TestWhatALedgerCosts", `\d reservations were sent, want 5`)},
		},
		{
			Name: "a permit comes back twice",
			Why:  "a permit that has come back is not inside any more; taken out once more, its client is told twice that it was",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "p.sent, p.left = true, inside || p.left",
				New:  "p.sent, p.left = true, inside || true",
			}},
			Caught: []Hunt{story("TestConcurrencyIsReleasedByReturns", `a permit comes back once`)},
		},
		{
			Name: "a permit is out before that is stored",
			Why:  "a return is answered when a majority has stored it; answered by what was read, the permit may be inside again for the next owner",
			Edits: []Edit{{
				File: "actor/owner/permits.go",
				Old:  "\tdefault:\n\t\to.rewrite(b, nil, now, out)\n",
				New:  "\tdefault:\n\t\tp.over, p.Out = true, l.Remove(p.ID)\n",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestModelOfLedgers$/^permits$", Flags: []string{"-ledger-walks=200000"}, Says: `a permit came back, taken out`},
				story("TestReturnOfAReturn", `was denied`),
			},
		},
		{
			Name: "a return goes by an old ledger",
			Why:  "an owner that takes a permit out claims the ledger first, if it may not be the latest; otherwise it writes over what others have admitted",
			Edits: []Edit{
				{File: "actor/owner/permits.go", Old: "\tcase !l.current:\n\t\to.eachToTakeOut(b, func(p *Permit) { p.claimed = true })\n\t\tl.written = nil\n\t\to.claim(b, now, out)\n\tdefault:\n\t\to.rewrite", New: "\tdefault:\n\t\to.rewrite"},
				{File: "actor/owner/counting.go", Old: "From: b.held.to, To: to, Background: background,", New: "From: l.claimFrom(b, now, o.cfg), To: l.claimFrom(b, now, o.cfg) + 1, Background: background,"},
			},
			Caught: []Hunt{
				story("TestPermitComesBackAtAnotherOwner", `the return had no effect`),
				{Package: "./actor/owner", Run: "^TestModelOfLedgers$/^permits$", Flags: []string{"-ledger-walks=200000"}, Says: `\d of \d in one window|a permit came back|too early`},
			},
		},
		{
			Name: "a place is freed twice",
			Why:  "a return takes out the entry of its permit and nothing else; once that is gone, another client's must stay",
			Edits: []Edit{{
				File: "actor/limit/enter.go",
				Old:  "return e.ID != 0 && those(e.ID) })\n",
				New:  "return e.ID != 0 && those(e.ID) })\n\tif len(l.entries)+len(l.holds) == before && len(l.entries) > 0 {\n\t\tl.entries = l.entries[1:]\n\t}\n",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestModelOfLedgers$/^permits$", Flags: []string{"-ledger-walks=200000"}, Says: `\d of \d in one window|too early`},
				story("TestPermitIsTakenOutOnce", `one place is free|taken out`),
			},
		},
		{
			Name: "an extension is denied by what is known",
			Why:  "that a permit has ended is said by a ledger that was asked for after the extension; by an older one, a client inside is told to enter anew",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "return c.ended\n",
				New:  "return l.fresh(c.At)\n",
			}},
			Caught: []Hunt{story("TestExtensionOfWhatHasEnded", `while it lasts`)},
		},
		{
			Name: "an extension is denied by what has ended since",
			Why:  "that a permit has ended is said by a ledger that was asked for after its end; by one whose answers came after it, a client whose permit another owner has extended meanwhile is told to enter anew",
			Edits: []Edit{
				{File: "actor/owner/leaving.go", Old: "w.ended = !inside && w.At <= askedAt && l.TellsOf(askedAt)", New: "w.ended = w.At <= askedAt\n\t\t\t_ = inside"},
			},
			Caught: []Hunt{story("TestExtensionWhoseAnswersAreLate", `was answered`)},
		},
		{
			Name: "ended, for it was dropped",
			Why:  "an owner may have dropped what ended after a claim was asked; that says nothing of a permit as of when it was",
			Edits: []Edit{{
				File: "actor/owner/leaving.go",
				Old:  " && l.TellsOf(askedAt)",
				New:  "",
			}},
			Caught: []Hunt{story("TestPermitDroppedBeforeALateAnswer", `is told that its permit has ended`)},
		},
		{
			Name: "unreadable, and so empty",
			Why:  "a ledger that cannot be read leaves none in memory; if it is taken for the one that is known, the bucket is full again",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "l.Ledger, l.latest = l.Empty(reset), -1 // nothing is known",
				New:  "l.Ledger = l.Empty(reset)",
			}},
			Caught: []Hunt{story("TestUnreadableOnce", `of 10 a day`)},
		},
		{
			Name: "holds dropped for a denial",
			Why:  "a hold that has expired is dropped for one that is written; dropped for one that is denied, it is unknown to its owner, and stored",
			Edits: []Edit{{
				File: "actor/owner/holding.go",
				Old:  "l.Clone(nil).FullOfHolds(now)",
				New:  "l.FullOfHolds(now)",
			}},
			Caught: []Hunt{story("TestNothingIsDroppedForADenial", `is settled`)},
		},
		{
			Name: "a sweep forgets a ledger",
			Why:  "a ledger is kept until its last entry has ended; swept with its line, which ends at once, all that counts is forgotten",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "Expire: max(d.full.KeptUntil(now), l.KeptUntil(now), b.rule.KeptUntil(now)) + o.cfg.Late,",
				New:  "Expire: 1,",
			}},
			Caught: []Hunt{story("TestSweepsKeepLiveLedgers", `want allowed false`)},
		},
		{
			Name: "an emptier ledger forgotten before a fuller one",
			Why:  "a ledger is kept for as long as an earlier one may count something; swept before, a majority of one that forgot it and one that missed it has what was taken out",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "max(d.full.KeptUntil(now), l.KeptUntil(now), b.rule.KeptUntil(now))",
				New:  "d.full.KeptUntil(now)",
			}},
			Caught: []Hunt{story("TestWhatIsOutStaysOutWhenItIsSwept", `are left to another owner`), {Package: "./actor/owner", Run: "^TestModelOfLedgers$/^permits,_swept$", Flags: []string{"-ledger-walks=200000"}, Says: `without replica`}},
		},
		{
			Name: "an emptier ledger kept by the limit alone",
			Why:  "what the ledger before counts or lists may last longer than the limit does now: debt without a bound, a window that this clock has not reached, holds that could be longer",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "max(d.full.KeptUntil(now), l.KeptUntil(now), b.rule.KeptUntil(now))",
				New:  "max(d.full.KeptUntil(now), b.rule.KeptUntil(now))",
			}},
			Caught: []Hunt{story("TestFilledOutOfDebtWhenItIsSwept", `are left to another owner`), story("TestSettledAfterHoldsBecameShorterWhenItIsSwept", `after a settlement that was repeated`)},
		},
		{
			Name: "taken out by another, once it is told twice",
			Why:  "a permit that this owner has taken out was inside, however often claims are told of that write; otherwise its return says that it was not",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "o.readListed(b, own || l.as == l.latest)",
				New:  "o.readListed(b, own)",
			}},
			Caught: []Hunt{story("TestTakenOutAtAMinorityAndToldOfItTwice", `was not inside`)},
		},
		{
			Name: "a return across a reset",
			Why:  "what was admitted before a reset does not come back after it, whichever owner has made it; otherwise the limit is had twice since the reset",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "l.Reset() != reset {",
				New:  "l.Reset() != reset && false {",
			}},
			Caught: []Hunt{story("TestNothingComesBackAcrossAResetElsewhere", `came back`)},
		},
		{
			Name: "a permit that has ended is given",
			Why:  "a permit is given only while it lasts, however long its check has waited; otherwise two clients believe that they are inside",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "t >= r.since && (r.id == 0 || now < r.ends)",
				New:  "t >= r.since && (r.id == 0 || now < r.ends || true)",
			}},
			Caught: []Hunt{story("TestNoPermitIsGivenThatHasEnded", `before it was given`)},
		},
		{
			Name: "a permit for nobody",
			Why:  "a permit that no check was given comes back by itself; otherwise its place is taken for a lease, and nobody is inside",
			Edits: []Edit{{
				File: "actor/owner/waiting.go",
				Old:  "l.releaseUnclaimed(now, o.cfg)\n",
				New:  "_ = l\n",
			}},
			Caught: []Hunt{story("TestUnclaimedPermitsGoBack", `nobody is inside`)},
		},
		{
			Name: "a return wakes no key",
			Why:  "a key whose clients are inside sleeps; a return wakes it, for without that the place stays taken until the lease is over",
			Edits: []Edit{{
				File: "actor/turn.go",
				Old:  "case m.kind == giveBack && len(m.rules) == 0: // there is nothing",
				New:  "case m.kind == giveBack: // there is nothing",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestReturnToAQuietKey$", Says: `it came back: \[false\]`}},
		},
		{
			Name: "a penalty in memory alone",
			Why:  "a penalty is stored, and closes the bucket for later owners too; otherwise a crash or a quiet second opens it",
			Edits: []Edit{{
				File: "actor/owner/closing.go",
				Old:  "o.write(b, l.draft(next, &out.ledger), now, true, out)\n",
				New:  "l.Ledger, p.due = next, false\n",
			}},
			Caught: []Hunt{
				story("TestPenaltyOutlivesItsOwner", `was admitted`),
				{Package: "./actor", Run: "^TestPenaltyThroughActors$", Says: `closed until \d+ as its owner knows it, and 0`},
			},
		},
		{
			Name: "an admission pardons nothing",
			Why:  "denials in a row have no admission between them; otherwise a client that is denied now and then is shut out in the end",
			Edits: []Edit{{
				File: "actor/owner/closing.go",
				Old:  "trials[i].bucket.ledger().penalties.Denied = 0",
				New:  "_ = trials[i]",
			}},
			Caught: []Hunt{story("TestPenaltiesAgainstAModel", `closed (true|false), until|it is closed`), story("TestRowsOfDenialsEnd", `denied after a minute`)},
		},
		{
			Name: "a penalty of another clock",
			Why:  "a penalty that another owner entered lasts longer by as much as clocks may differ; otherwise an owner whose clock is ahead opens the bucket early",
			Edits: []Edit{{
				File: "actor/limit/closing.go",
				Old:  "end += l.late",
				New:  "end += 0 * l.late",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestPenaltiesOfOtherOwners$", Says: `another owner's lasts`}},
		},
		{
			Name: "a penalty keeps a floor",
			Why:  "what a majority has lost is no penalty; a floor for its sake would close every bucket of the limit for as long as the longest",
			Edits: []Edit{{
				File: "actor/limit/rule.go",
				Old:  "case r.OfPenalties(): // none",
				New:  "case r.Inline && r.OfPenalties(): // none",
			}},
			Caught: []Hunt{story("TestPenaltiesAreLostWithTheirMajority", `nothing is stored after the loss`)},
		},
		{
			Name: "a claim brings no ledger to the join",
			Why:  "a move joins the highest version of a ledger, whichever replica has the furthest position: a claim raises that and brings no ledger",
			Edits: []Edit{{
				File: "storage/register/join.go",
				Old:  "if earlier.Version > later.Version {",
				New:  "if later.Version == 0 && earlier.Version > 0 {",
			}},
			Caught: []Hunt{{Package: "./storage/register", Run: "^TestJoinOfLedgers$", Says: `got \{`}, walks("moves")},
		},
	}
}
