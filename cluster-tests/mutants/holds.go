package mutants

// ofHolds are those of holds and their settlements.
func ofHolds() []Mutant { //nolint:funlen // a list
	walks := func(setting, says string) Hunt {
		return Hunt{Package: "./actor/owner", Run: "^TestModelOfLedgers$/^" + setting + "$", Flags: []string{"-ledger-walks=200000"}, Says: says}
	}
	worlds := func(says string) Hunt {
		return Hunt{Package: "./cluster-tests/simulation", Run: "^TestFixedSeeds$", Says: says}
	}
	story := func(test, says string) Hunt { return Hunt{Package: "./actor/owner", Run: "^" + test + "$", Says: says} }
	return []Mutant{
		{
			Name: "a line charged at another plan's price",
			Why:  "what was used beyond a hold is tokens of the hold's plan; at the price of whichever was asked for last, a small plan gets more than it allows",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "o.force(b, s.Rule, more",
				New:  "o.force(b, b.rule, more",
			}},
			Caught: []Hunt{story("TestLineIsChargedAtThePriceOfTheHold", `are spent|are charged`)},
		},
		{
			Name: "a settlement reaches by another plan",
			Why:  "what is charged beyond a hold of a larger plan may lie further ahead than the plan reaches that was asked for last: replicas refuse it for ever, and all that waits behind it waits too",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "length: b.lengthBy(by, amount), at: at, reach: by.Reach()}",
				New:  "length: b.lengthBy(by, amount), at: at}",
			}},
			Caught: []Hunt{story("TestSettlementReachesByItsOwnPlan", `is not answered`)},
		},
		{
			Name: "a settlement reserves what another definition gives up",
			Why:  "two definitions of one name in requests do not know how far the other one reaches: line that lies too far ahead for the one that was asked for last is reserved and given up, again and again, until nothing is left",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "by.Reach() > b.rule.Ahead() && most.After(known)",
				New:  "by.Reach() > b.rule.Ahead() && false",
			}},
			Caught: []Hunt{story("TestSettlementBesideAnotherDefinition", `reservations|are left`)},
		},
		{
			Name: "a settlement asks for its plan",
			Why:  "what was used beyond a hold is charged by its plan, and checks go by theirs; where the bucket changes to it, nothing comes back of the holds of others",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "o.force(b, s.Rule, more",
				New:  "o.force(o.bucketOf(s.Rule, out), s.Rule, more",
			}},
			Caught: []Hunt{story("TestHoldsOfOthersGiveBackAfterACharge", `were given back`)},
		},
		{
			Name: "a settlement in memory alone",
			Why:  "a settlement is answered once a majority has stored it; answered before, it is forgotten with its owner, and the hold is charged or freed in its place",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "\tcase l.current && (listed || s.wasSettledBy(l.Ledger)):\n",
				New:  "\tcase l.current && (listed || s.wasSettledBy(l.Ledger)):\n\t\ts.enter(l.Ledger, b.rule, now)\n\t\ts.over = s.sent\n",
			}},
			Caught: []Hunt{walks("holds_in_a_window", `without replica`), worlds(`and a majority has stored`)},
		},
		{
			Name: "unknown by an old ledger",
			Why:  "a hold is unknown only by a ledger that was claimed after the settlement came; by an older one, a hold that another owner has taken since is never settled",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "case l.current && s.claimed:",
				New:  "case l.current:",
			}},
			Caught: []Hunt{walks("holds_in_a_window", `the hold is not known`), worlds(`does not know a hold of`)},
		},
		{
			Name: "unknown for line far ahead",
			Why:  "a hold is unknown without a claim, and a return without effect, only if a majority has told of floors; line that is free only far ahead may have been claimed by an owner whose clock is ahead, and the ledger is whole",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "case b.forgotten(cfg) && b.free",
				New:  "case b.free",
			}},
			Caught: []Hunt{
				story("TestHoldIsNotUnknownForLineFarAhead", `answered: `),
				story("TestReturnWaitsForLineFarAhead", `the return had no effect`),
			},
		},
		{
			Name: "unknown by floors of before",
			Why:  "a hold is unknown only if replicas tell of floors after the settlement came; by another owner's clock floors that they told of before may be over, and a hold that was taken since is never settled",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "\tcase !claimed:\n\t\treturn false, false\n",
				New:  "",
			}},
			Caught: []Hunt{story("TestHoldIsNotUnknownForAClockThatIsBehind", `State:unknown`)},
		},
		{
			Name: "a return by floors of before",
			Why:  "a return is without effect only if replicas tell of floors after it came; floors that they told of before may be over, and the place of who has left stays taken until the lease is over",
			Edits: []Edit{{
				File: "actor/owner/permits.go",
				Old:  "l.standing(b, p.claimed, now, o.cfg)",
				New:  "l.standing(b, true, now, o.cfg)",
			}},
			Caught: []Hunt{story("TestReturnGoesByTheFloorsOfNow", `the return had no effect`)},
		},
		{
			Name: "a late replica closes a ledger",
			Why:  "a silent replica is waited for where the others accept a claim much later only; left out beside a floor, it closes the bucket, and most have what it counts",
			Edits: []Edit{{
				File: "actor/owner/free.go",
				Old:  "return cfg.Slack // its line",
				New:  "return math.MaxInt64 // its line",
			}},
			Caught: []Hunt{story("TestLateReplicaDoesNotCloseALedger", `was denied|was answered`)},
		},
		{
			Name: "a settlement that nobody wakes",
			Why:  "a settlement that waits for a claim is tried again when the claim can be accepted; a refusal says when to ask again, and once that is past, nothing else does",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "b.pauseUntil(l.claimAgainAt(b, now, cfg), now)",
				New:  "b.pauseUntil(b.refused().until, now)",
			}},
			Caught: []Hunt{story("TestHoldIsNotUnknownForLineFarAhead", `answered false`)},
		},
		{
			Name: "checks behind a settlement",
			Why:  "a settlement that waits for a claim pauses its bucket until replicas accept one; until its line is there, checks of 1.5 s run out of time",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "return now + l.blocked(b, now, cfg) + firstPause",
				New:  "return l.claimFrom(b, now, cfg)",
			}},
			Caught: []Hunt{story("TestSettlementThatWaitsHoldsUpNoCheck", `answered false`)},
		},
		{
			Name: "no settlement among many",
			Why:  "a settlement is repeated after thousands of others of its key, which a ledger cannot list; were it unknown then, its caller would charge again what was charged",
			Edits: []Edit{{
				File: "actor/owner/settlement.go",
				Old:  "return !s.Open && l.WasSettled(s.Held.ID)",
				New:  "return false",
			}},
			Caught: []Hunt{story("TestRepeatAmongManySettlements/ledger", `repeated: `)},
		},
		{
			Name: "settled by what one replica has",
			Why:  "a settlement that is repeated is answered once a majority has stored that its hold was settled; by the ledger of one replica, it tells of what may be lost with that",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "case l.current && (listed || s.wasSettledBy(l.Ledger)):",
				New:  "case l.current && s.wasSettledBy(l.Ledger):\n\t\ts.tellSettled(0)\n\t\ts.over = true\n\tcase l.current && listed:",
			}},
			Caught: []Hunt{story("TestSettledByAMinority", `one that was told as settled`)},
		},
		{
			Name: "settled long ago, and unknown",
			Why:  "who is told that a hold is unknown charges what was used again; one that was settled for what was used is known as settled however long ago it was",
			Edits: []Edit{{
				File: "actor/limit/holdlist.go",
				Old:  "\t\t\t\th.forgottenBy(numbers)",
				New:  "\t\t\t\tnumbers.Forget(h.ID)",
			}},
			Caught: []Hunt{story("TestSettledStaysKnown", `repeated: `)},
		},
		{
			Name: "charged twice after an owner's death",
			Why:  "what was used beyond a hold of an owner that is gone is remembered for as long as its settlement may be repeated; forgotten with own holds, it is charged again",
			Edits: []Edit{{
				File: "actor/owner/linehold.go",
				Old:  "return h.overAt + int64(limit.SettleLate)",
				New:  "return h.overAt + rememberSettled",
			}},
			Caught: []Hunt{story("TestForeignHoldIsChargedOnce", `repeated: `)},
		},
		{
			Name: "an expired hold was settled",
			Why:  "a hold that has expired and is listed no more was charged or freed as its limit says, and not for what a late settlement would like",
			Edits: []Edit{{
				File: "actor/limit/holdlist.go",
				Old:  "if !h.plain() {",
				New:  "if h.Short {",
			}},
			Caught: []Hunt{story("TestForgottenHoldsWereNotSettled", `a hold that expired long ago`)},
		},
		{
			Name: "charged less, and told more",
			Why:  "a hold that was charged less than was used, for the debt, is not told to have been charged all of it once it is listed no more",
			Edits: []Edit{{
				File: "actor/limit/ledgerhold.go",
				Old:  "e.Settled, e.Short, e.Until = true, used < c.Used, min(e.Until, now)",
				New:  "e.Settled, e.Until = true, min(e.Until, now)",
			}},
			Caught: []Hunt{story("TestForgottenHoldsWereNotSettled", `repeated among many`)},
		},
		{
			Name: "any id was settled",
			Why:  "only holds that were taken can have been settled; an id that was made up is unknown",
			Edits: []Edit{{
				File: "actor/limit/holdnumbers.go",
				Old:  "return number, 0 < number && number <= n.last",
				New:  "return number, true",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestHoldNumbers$", Says: `made up, was settled`}},
		},
		{
			Name: "another ledger of a difference",
			Why:  "a difference makes the whole ledger or nothing; made of another ledger than it was made from, or of bytes that were changed, it would be one that nobody has written",
			Edits: []Edit{{
				File: "storage/difference/difference.go",
				Old:  "	case h.base:\n		next, ok = apply(base, edits, h.length)\n		return next, ok && SumOf(next) == h.next\n	}\n	return nil, false",
				New:  "	}\n	return apply(base, edits, h.length)",
			}},
			Caught: []Hunt{
				{Package: "./storage/difference", Run: "^TestLedgersGoOn$", Says: `another base was taken|a byte was changed`},
				{Package: "./storage/register", Run: "^TestADifferenceIsTheWholeOrNothing$", Says: `as a difference`},
			},
		},
		{
			Name: "a difference is not looked at",
			Why:  "what was made of a difference is compared with the sum of what was meant: the base may be right, and a byte of the rest wrong",
			Edits: []Edit{{
				File: "storage/difference/difference.go",
				Old:  "return next, ok && SumOf(next) == h.next",
				New:  "return next, ok",
			}},
			Caught: []Hunt{{Package: "./storage/difference", Run: "^TestLedgersGoOn$", Says: `a byte was changed`}},
		},
		{
			Name: "settled twice",
			Why:  "a hold is settled once; what is said of it later changes nothing, or a repeated settlement would give back what others have spent",
			Edits: []Edit{{
				File: "actor/limit/ledgerhold.go",
				Old:  "if e.Settled {",
				New:  "if e.Settled && c.Open {",
			}},
			Caught: []Hunt{story("TestSettle/ledger", `otherwise: `), worlds(`and the ledger that a majority has stored has`)},
		},
		{
			Name: "a line comes back twice",
			Why:  "so it is where a hold is settled in the memory of its owner",
			Edits: []Edit{{
				File: "actor/owner/linehold.go",
				Old:  "\tif h.settled {\n\t\treturn\n\t}\n\tif s.For",
				New:  "\tif s.For",
			}},
			Caught: []Hunt{story("TestRepeatedBeyondDebt", `repeated with less`)},
		},
		{
			Name: "a settlement beside a slow node",
			Why:  "a node that is slow may have taken the hold, of which other nodes know nothing: they would charge again what was used beyond it",
			Edits: []Edit{{
				File: "rpc/nodes/attempt.go",
				Old:  "	t.hedged = c.hedging == inTurn",
				New:  "	t.hedged = false",
			}},
			Caught: []Hunt{{Package: "./rpc/nodes", Run: "^TestSettlementsAreNotHedged$", Says: `another node was asked`}},
		},
		{
			Name: "a hold where it was asked for",
			Why:  "the settlement of a hold goes to the first healthy replica; a hold that another one has taken in its memory is lost to that, and stays charged in full",
			Edits: []Edit{{
				File: "rpc/router.go",
				Old:  `return r.ID != "" || r.Hold > 0`,
				New:  `return r.ID != ""`,
			}},
			Caught: []Hunt{{Package: "./rpc", Run: "^TestRoutesOfHolds$", Says: `by node 0`}},
		},
		{
			Name: "a settlement runs behind its time",
			Why:  "what was used beyond a hold is charged at the time of the settlement: a later time needs other line than was reserved, again and again",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "o.force(b, s.Rule, more, at, now, out)",
				New:  "o.force(b, s.Rule, more, now, now, out)",
			}},
			Caught: []Hunt{story("TestSettleAtSlowReplicas", `answered false`)},
		},
		{
			Name: "a hold outlives a full bucket",
			Why:  "a bucket that has been full has what its holds took before; what comes back of them then would be there twice",
			Edits: []Edit{{
				File: "actor/owner/bucket.go",
				Old:  "\t\tr.forgetMade()\n\t}\n\tif hs := b.lineHolds(); hs != nil {",
				New:  "\t\tr.forgetMade()\n\t}\n\tif hs := b.lineHolds(); false {",
			}},
			Caught: []Hunt{story("TestHoldOfBeforeTheBucketWasFull", `are left`)},
		},
		{
			Name: "what was left behind comes back",
			Why:  "by the time at which the last check begins that waited, all line before has come back by itself; what a hold or a receipt brings back of it after that is there twice",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "from, some := limit.Later(r.left, b.ended(now)), false",
				New:  "from, some := b.ended(now), false",
			}},
			Caught: []Hunt{
				story("TestHoldsBeforeAFullBucket", `took effect`),
				story("TestReceiptOfBeforeAFullBucket", `took effect`),
				story("TestHoldExpiresBesideWaits", `tokens at once`),
				story("TestHoldsBesideWaitsAreExact", `want it to begin at`),
			},
		},
		{
			Name: "waits end by the clock of the decision",
			Why:  "for a check that came before another one began that waits, that one waits still: what came back is to be had in its place, and not lost because the decision came late",
			Edits: []Edit{{
				File: "actor/owner/expiry.go",
				Old:  "b.leaveBehind(t)",
				New:  "b.leaveBehind(now)",
			}},
			Caught: []Hunt{story("TestDecidedOnceWaitsAreOver", `was denied`)},
		},
		{
			Name: "holds are over once line is reserved for a check that waits",
			Why:  "line is reserved for the next window when a check waits for it; until that begins, others can have what holds give back of this one",
			Edits: []Edit{{
				File: "actor/owner/bucket.go",
				Old:  "if waits > 0 && s.from <= b.rule.Begin(waits) {",
				New:  "if waits < 0 && s.from <= b.rule.Begin(waits) {",
			}},
			Caught: []Hunt{story("TestHoldsBesideWaitsAreExact", `want it to begin at`)},
		},
		{
			Name: "what comes back last is dropped",
			Why:  "of more than the bucket can hold, the last on the line is kept, in whatever order it came: a check that waits can have only what lies behind its begin",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "from, some := limit.Later(r.left, b.ended(now)), false",
				New:  "if !b.creditCap(now).After(b.credit(now)) {\n\t\treturn false\n\t}\n\tfrom, some := limit.Later(r.left, b.ended(now)), false",
			}},
			Caught: []Hunt{story("TestLastOfWhatCameBackIsKept", `begins after`)},
		},
		{
			Name: "debt without an end",
			Why:  "a settlement charges no more than the limit's debt allows",
			Edits: []Edit{{
				File: "actor/limit/ledgerhold.go",
				Old:  "max(taken, min(used, taken+l.chargeable(e, addUpTo(0, free, debt))))",
				New:  "max(taken, used, addUpTo(0, min(free, 0), min(debt, 0)))",
			}},
			Caught: []Hunt{story("TestMaxDebt", `ledger, debt`)},
		},
		{
			Name: "a hold does not note who waits",
			Why:  "what a hold gives back stays in its place while checks wait behind it, whose times are told; by its length, it is admitted beside them",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "x.returns == nil && x.holds == nil",
				New:  "x.returns == nil",
			}},
			Caught: []Hunt{story("TestHoldsBesideWaits", `more than there were`)},
		},
		{
			Name: "what was used above a hold is not taken back",
			Why:  "a hold remembers all the line that was spent for it; without what settlements have added, less comes back than was not used",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "if h.charged += got; got > 0 {",
				New:  "if h.charged += got; got < 0 {",
			}},
			Caught: []Hunt{story("TestHoldsOfALineAreExact", `want`)},
		},
		{
			Name: "an owner that is gone gives back",
			Why:  "only the owner that took a hold of a line knows what came of it; another one that promises a return has none to give",
			Edits: []Edit{{
				File: "actor/owner/linehold.go",
				Old:  "h.used, h.settled = max(h.amount, h.used, s.Used), !s.Open",
				New:  "h.used, h.settled = s.Used, !s.Open",
			}},
			Caught: []Hunt{story("TestSettleAtAnotherOwner", `of a short bucket`)},
		},
		{
			Name: "freed, and there again",
			Why:  "what is freed when a hold expires is freed once, and the ledger says so to other owners; one whose clock is behind takes it for held still, and charges what others have been given",
			Edits: []Edit{{
				File: "actor/limit/holdlist.go",
				Old:  "if h.Settled || h.Freed {",
				New:  "if h.Settled {",
			}},
			Caught: []Hunt{story("TestFreedHoldIsNotTakenAgain", `was given to others`)},
		},
		{
			Name: "freed with each look",
			Why:  "so it is for the owner itself",
			Edits: []Edit{{
				File: "actor/limit/ledger.go",
				Old:  "h.Freed = true\n\t\t\t",
				New:  "",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLedgerOfHolds$", Says: `count, want`}},
		},
		{
			Name: "back though the bucket was full since",
			Why:  "a bucket that had to refill little since a hold was taken would have been full without it, and taken no more; given back in full, tokens are there twice",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "low := l.holds[i].Low",
				New:  "low := l.toRefill(l.now)",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLedgerOfBucket$", Says: `have to come back`}},
		},
		{
			Name: "expired holds make room first",
			Why:  "of a settled hold nothing can change any more; one that has expired can be settled for ten minutes, however many are settled meanwhile",
			Edits: []Edit{{
				File: "actor/limit/holdlist.go",
				Old:  "told := func(h *HoldEntry) bool { return h.plain() && numbers.Settled(h.ID) }",
				New:  "told := func(h *HoldEntry) bool { return h.past(now, late) }",
			}},
			Caught: []Hunt{story("TestLateSettlementAmongMany", `settled five minutes after`)},
		},
		{
			Name: "one expired hold makes those before it unknown",
			Why:  "who is told that a hold is unknown charges what was used again; so what one caller leaves behind may make nothing unknown of others",
			Edits: []Edit{{
				File: "actor/limit/holdnumbers.go",
				Old:  "len(n.others) > maxOthers {",
				New:  "len(n.others) > 0 {",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestHoldNumbers$", Says: `was settled: false, want true`}},
		},
		{
			Name: "a full list makes room for nobody",
			Why:  "a hold that has expired can be settled for ten minutes; only a new hold that finds no room may end that",
			Edits: []Edit{{
				File: "actor/limit/holdlist.go",
				Old:  "return room && (len(*hs) >= MaxHolds || hs.fullOfBytes())",
				New:  "return len(*hs) >= MaxHolds",
			}},
			Caught: []Hunt{story("TestFullListKeepsExpired", `nobody has asked for a new hold`)},
		},
		{
			Name: "foreign holds for ever",
			Why:  "anybody can make up holds of owners that are gone; they may bar true ones for ten minutes, and not for ever",
			Edits: []Edit{{
				File: "actor/owner/linehold.go",
				Old:  "if hs.foreign >= maxForeign && now-hs.pruned >= int64(time.Second) {",
				New:  "if hs.foreign < 0 {",
			}},
			Caught: []Hunt{story("TestForeignMakeRoom", `want lost, charged 2000`)},
		},
		{
			Name: "a claim for each unknown hold",
			Why:  "one claim tells of all holds that settlements wait for; one for each keeps the checks of the key waiting",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "o.eachToSettle(b, func(s *Settle) { s.claimed = true })",
				New:  "s.claimed = true",
			}},
			Caught: []Hunt{story("TestUnknownHoldsShareAClaim", `a check waits`)},
		},
		{
			Name: "held for longer than it lasts",
			Why:  "a hold that is answered has not expired; one that was freed while its check waited holds what others have been given",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "c.Deadline = min(c.Deadline, c.expires())",
				New:  "c.Deadline = max(c.Deadline, 0)",
			}},
			Caught: []Hunt{story("TestHoldThatIsStoredTooLate", `want`)},
		},
		{
			Name: "few pieces of many holds",
			Why:  "of nearly every hold a piece of line comes back; kept as few as of returns, the tokens of thousands are lost",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "if r.holds {",
				New:  "if r.holds && len(r.free) == 0 {",
			}},
			Caught: []Hunt{story("TestManyHoldsOfALine", `are left`)},
		},
		{
			Name: "a debt that nobody can read",
			Why:  "whatever callers say was used, the ledger that is written can be read; one that cannot fails every check of its key, and its resets too",
			Edits: []Edit{{
				File: "actor/limit/enter.go",
				Old:  "min(l.entries[i].Amount+amount, int64(maxEntry))",
				New:  "max(l.entries[i].Amount+amount, 0)",
			}},
			Caught: []Hunt{story("TestDebtThatCountsLessCanBeRead", `cannot be read`)},
		},
		{
			Name: "charged across a reset",
			Why:  "a reset forgives what was held; an owner that has not taken the hold would charge what was used beyond it to the bucket that was filled since",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "s.Held.Generation < b.gen",
				New:  "s.Held.Generation < 0",
			}},
			Caught: []Hunt{story("TestResetForgetsHolds", `by another owner`)},
		},
		{
			Name: "holds that are made up are remembered",
			Why:  "an owner remembers few of the holds of others that it has charged nothing for; anybody can make them up, and they would take the room of those that are taken",
			Edits: []Edit{{
				File: "actor/owner/settle.go",
				Old:  "len(hs.byID) < maxUncharged",
				New:  "len(hs.byID) < maxLineHolds",
			}},
			Caught: []Hunt{story("TestHoldsThatAreMadeUp", `there are none of`)},
		},
		{
			Name: "a plan with a bucket of its own",
			Why:  "whatever numbers plans and overrides set, a key has one bucket of a limit; with another register each, a caller spends one after the other",
			Edits: []Edit{{
				File: "actor/limit/numbers.go",
				Old:  "if rule.Register() != base.Register() {",
				New:  "if rule.Name != base.Name {",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestVariantsShareARegister$", Says: `and the plan .* spends`}},
		},
	}
}
