package mutants

import "slices"

// ofOwner are mutants of the owner's steps.
func ofOwner() []Mutant {
	return slices.Concat(ofReserving(), ofSkipping(), ofReservingAhead(), ofSpending(), ofReturning(), ofLedgers(), ofRooms(), ofHolds(), ofCountedBuckets())
}

// ofReserving are mutants of how line is reserved, and what counts as reserved.
func ofReserving() []Mutant { //nolint:funlen // a list
	return []Mutant{
		{
			Name: "majority of one",
			Why:  "a segment is the owner's when a majority has accepted it; one replica's word is given to two owners at once",
			Edits: []Edit{{
				File: "actor/owner/answer.go",
				Old:  "case c.accepted >= o.cfg.majority():",
				New:  "case c.accepted >= 1:",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestMajority$", Says: `check 1 was answered`},
				{Package: "./actor/owner", Run: "^TestModel$/^settings$/^a_restart_and_a_longer_time$", Says: modelSays},
			},
		},
		{
			Name: "an accept of another epoch",
			Why:  "an accept counts in its epoch only; carried over into the next replica set, two halves of two sets make a majority",
			Edits: []Edit{{
				File: "actor/owner/replication.go",
				Old:  "*t = replication{next: t.next, nextFar: t.nextFar}",
				New: `p := t.pending
		*t = replication{next: t.next, flight: t.flight}
		if p != nil {
			t.pending = &t.flight
			t.flight.Epoch++
			t.flight.resendAt = 0
		}`,
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestEnterWithACheckThatWaits$", Says: `reservations were sent, want 2`},
				{Package: "./actor/owner", Run: "^TestModelOfAChange$", Says: modelSays},
			},
		},
		{
			Name: "far line kept under a shorter rule",
			Why:  "what was reserved further ahead than a new rule reaches is given up; kept, it is spent a second time where replicas have forgotten, whose floors reach as far as the new rule",
			Edits: []Edit{{
				File: "actor/owner/bucket.go",
				Old:  "if over := b.far.over(rule, longer, cfg); over > 0 {",
				New:  "if over := b.far.over(rule, longer, cfg); over > math.MaxInt64-1 {",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestShorterRuleGivesUpWhatLiesTooFar$", Says: `too far: held up to`}},
		},
		{
			Name: "largest position",
			Why:  "an owner begins where a majority would accept; where the last of them would, one replica with a floor empties every bucket",
			Edits: []Edit{{
				File: "actor/owner/free.go",
				Old:  "return positions[cfg.majority()-1]",
				New:  "return positions[len(positions)-1]",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestOneFloorEmptiesNoBucket$", Says: `was denied`}},
		},
		{
			Name: "known positions ignored",
			Why:  "a reservation begins behind what is known to be taken; without that, an owner asks for what it has been refused",
			Edits: []Edit{{
				File: "actor/owner/free.go",
				Old:  "return max(from, b.free(b.gen, all, nil, cfg))",
				New:  "return from",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestDenialByWhatIsKnownDoesNoIO$", Says: `want a decision`}},
		},
		{
			Name: "one that accepts nothing counts",
			Why:  "a replica whose clock differs, or that has no room, is no part of a majority; counted, each try begins where one of the others refuses",
			Edits: []Edit{{
				File: "actor/owner/free.go",
				Old:  "return !v.hasPosition() || v == Skewed || v == Full",
				New:  "return !v.hasPosition()",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestOneThatAcceptsNothing$", Says: `checks were admitted by`}},
		},
		{
			Name: "spent while it is refused",
			Why:  "a reservation given up is never spent; taken up later, it is line that the retry has asked for once more",
			Edits: []Edit{{
				File: "actor/owner/answer.go",
				Old:  "\tif r := b.refused(); r != nil && r.Seq == a.Seq && r.record(a) && r.count().full > o.cfg.tolerated() {",
				New: `	if r := b.refused(); r != nil && r.Seq == a.Seq {
		if r.record(a); r.count().accepted >= o.cfg.majority() {
			p := r.pending
			o.take(b, &p, out)
		}
	}
	if r := b.refused(); r != nil && r.Seq == a.Seq && r.count().full > o.cfg.tolerated() {`,
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestGivenUpIsNeverSpent$", Says: `reservations were sent, want 2`}},
		},
		{
			Name: "a counter for each key",
			Why:  "numbers come from one counter of the process; with a counter for each key, one that is forgotten and comes back uses them again, and what was spent passes for its repetition",
			Edits: []Edit{
				{
					File: "actor/owner/reserve.go",
					Old:  "s.Limit, s.Seq, s.Epoch, s.Reach = b.rule.Register(), o.cfg.NextSeq(), o.epoch, max(s.Reach, b.rule.Reach())",
					New:  "o.seq++\n\ts.Limit, s.Seq, s.Epoch, s.Reach = b.rule.Register(), o.seq, o.epoch, max(s.Reach, b.rule.Reach())",
				},
				{
					File: "actor/owner/owner.go",
					Old:  "\tbucket   bucket    // the first one; without a rule if there is none yet\n",
					New:  "\tbucket   bucket    // the first one; without a rule if there is none yet\n\tseq    uint64\n",
				},
			},
			Caught: []Hunt{{Package: "./actor", Run: "^TestNumbersAreNotUsedAgain$/^after_a_panic$", Says: `was spent twice`}},
		},
		{
			Name: "generations as plain counters",
			Why:  "a generation is a position beyond all that can be reserved; a count is forgotten by a sweep, and a late reset takes effect again",
			Edits: []Edit{
				{
					File: "actor/owner/reset.go",
					Old:  "least := max(b.gen+1, b.held.to, t.next.to)",
					New:  "least := b.gen + 1",
				},
				{
					File: "actor/owner/reset.go",
					Old:  "generation = max(least, now+b.rule.Ahead()+o.cfg.Slack)",
					New:  "generation = least",
				},
				{
					File: "actor/owner/reset.go",
					Old:  "least = max(least, h.generation, h.position)",
					New:  "least = max(least, h.generation+1)",
				},
				{
					File: registerFile,
					Old:  "if r.Generation < generation && r.H <= generation {",
					New:  "if r.Generation < generation {",
				},
			},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestReset$", Says: `generation .*, want the position`},
				{Package: "./actor/owner", Run: "^TestModel$/^settings$/^a_reset,_done_or_failed_long_ago$", Says: modelSays},
			},
		},
	}
}

// ofSkipping are mutants of which line may be skipped, so that no owner can spend it.
func ofSkipping() []Mutant {
	skips := Hunt{Package: "./actor/owner", Run: "^TestModelSkipsNothing$", Says: `though a majority would have said yes from`}
	return []Mutant{
		{
			Name: "silence counts as lost",
			Why:  "a replica that has not answered counts with what it told last; left out at once, one late answer and one high register empty a bucket",
			Edits: []Edit{{
				File: "actor/owner/free.go",
				Old:  "return v == Lost || v == Gone",
				New:  "return !v.hasPosition()",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestOneSlowAnswerBurnsNothing$/^a_(check|peek),", Says: `tokens are left of 10000`}, skips},
		},
		{
			Name: "far beyond the silent",
			Why:  "a silent replica is left out only where that skips little; without that bound, the replicas that answered in time empty the bucket",
			Edits: []Edit{
				{
					File: "actor/owner/free.go",
					Old:  "r.waited && far-max(near, from) <= b.maxSkip(cfg)",
					New:  "r.waited && far > 0",
				},
				{
					File: "actor/owner/free.go",
					Old:  "if !p.stuck(cfg) || p.reset || b.free(p.Generation, responding, p, cfg)-p.From > b.maxSkip(cfg) {",
					New:  "if !p.stuck(cfg) || p.reset {",
				},
			},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestOneSlowAnswerBurnsNothing$", Says: `tokens are left of 10000`}, skips},
		},
		{
			Name: "a peek that reserves",
			Why:  "a check of no cost takes no line; begun where a check would begin, it takes all line before that from every caller",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "\tcase r != nil && r.sentAt >= t:\n\t\tend := limit.At(b.start(t, t, cfg))\n\t\tif",
				New:  "\tcase r != nil && r.sentAt >= t:\n\t\tend := limit.At(b.start(t, t, cfg))\n\t\tif end.NS > t && b.pending() == nil {\n\t\t\treturn result{verdict: wait, end: end, need: end, from: end.NS}\n\t\t}\n\t\tif",
			}},
			Caught: []Hunt{skips},
		},
		{
			Name: "a denial that asks with line",
			Why:  "a check that is denied because a replica is lost asks again without taking line. Otherwise every denial takes its cost from the replicas that answer",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "case refused != nil && t >= refused.until && refused.missing(cfg):",
				New:  "case refused != nil && t < 0:",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestDenialByAFloorIsNotForEver$", Says: `want one empty reservation`}},
		},
	}
}

// ofSpending are mutants of how what is reserved is spent.
func ofSpending() []Mutant {
	return []Mutant{
		{
			Name: "spent before the segment",
			Why:  "entering a segment that does not touch the held one raises TAT to its beginning. Otherwise the line between, another owner's, is spent",
			Edits: []Edit{{
				File: "actor/owner/bucket.go",
				Old:  "b.tat = limit.Later(b.tat, limit.At(s.from))",
				New:  "_ = limit.Later",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestJumpLeavesTheRest$", Says: `span .*, want 5 s to 8 s`},
				{Package: "./actor/owner", Run: "^TestModel$/^settings$/^messages_that_are_late_without_end$", Says: modelSays},
			},
		},
		{
			Name: "the last limit decides",
			Why:  "a check is admitted if all of its limits admit it; if the last one does, the others are overdrawn",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "denied = denied || t.verdict == deny",
				New:  "denied = t.verdict == deny",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestAllLimitsOrNone$", Says: `line is spent up to .*, and reserved up to .* only`}},
		},
		{
			Name: "decided after the deadline",
			Why:  "a check whose caller no longer waits is not decided. Otherwise it is admitted at a time outside its call",
			Edits: []Edit{{
				File: "actor/owner/waiting.go",
				Old:  "case w.Deadline <= now:",
				New:  "case w.Deadline <= 0 && now > 0:",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestDeadlines$", Says: `want context deadline exceeded`}},
		},
	}
}

// ofReturning are mutants of giving back.
func ofReturning() []Mutant { //nolint:funlen // a list
	return []Mutant{
		{
			Name: "returned twice",
			Why:  "a receipt is returned once; each further time it would give away what it cost",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "m.cut && m.end.NS < c.End) && !m.back {",
				New:  "m.cut && m.end.NS < c.End) {",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestReturnTwice$", Says: `returning .* took effect`},
				{Package: "./actor/owner", Run: "^TestModel$/^settings$/^receipts$", Says: `was returned twice`},
			},
		},
		{
			Name: "credit that survives a jump",
			Why:  "returned line belongs to the stretch it was spent in; after a jump it is line that has passed, or another owner's",
			Edits: []Edit{{
				File: "actor/owner/bucket.go",
				Old:  "\t\t} else {\n\t\t\tb.forgetReturns()",
				New:  "\t\t} else if false {\n\t\t\tb.forgetReturns()",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestJumpEndsCredit$", Says: `got .*Reuses:`},
			},
		},
		{
			Name: "credit for what has passed",
			Why:  "credit is at most the spent line that still lies ahead; without that bound, tokens are kept for ever",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "if most := b.creditCap(t); r.sum.After(most) {",
				New:  "if most := b.creditCap(t); false {",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestCreditFades$", Says: `credit .*, want 2 s`}},
		},
		{
			Name: "a receipt outlives a full bucket",
			Why:  "a bucket that has been full has given back every token; a receipt from before would give it once more",
			Edits: []Edit{{
				File: "actor/owner/bucket.go",
				Old:  "\tif r := b.returns(); r != nil {\n\t\tr.forgetMade()",
				New:  "\tif r := b.returns(); false {\n\t\tr.forgetMade()",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestReturnAfterTheBucketWasFull$", Says: `took effect`}},
		},
		{
			Name: "back in the next window",
			Why:  "what comes back of a window that has ended is nothing in the next one, whose line debt or a check that waited may have begun; as credit there, it admits more than the limit",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "if begin := b.rule.Begin(t); begin > t {",
				New:  "if begin := b.rule.Begin(t); false {",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestHoldOfAnEarlierWindow$", Says: `are left of ten`},
				{Package: "./actor/owner", Run: "^TestReturnOfAWindowThatEnds$", Says: `are left of ten`},
			},
		},
		{
			Name: "a receipt of other numbers",
			Why:  "a receipt proves tokens of the limit as it was; under other numbers its line is more of them, or fewer",
			Edits: []Edit{{
				File: "actor/owner/bucket.go",
				Old:  "if !rule.SameNumbers(b.rule) {",
				New:  "if !rule.Same(b.rule) {",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestReturnAfterAChange$", Says: `after the change|a return takes effect is true`}},
		},
		{
			Name: "serials in a row",
			Why:  "a receipt is identified by a number that cannot be guessed; a counter would give away the previous receipt, which is another caller's",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "return nonce&^(MaxReceipts-1) | r.next%MaxReceipts",
				New:  "return r.next + 0*nonce",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestReceiptsCannotBeComputed$", Says: `comes after|took effect`}},
		},
		{
			Name: "pieces pile up",
			Why:  "a bucket keeps few pieces of returned line; without a bound, one caller makes every answer megabytes long",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "if len(r.free) > r.most() {",
				New:  "if false {",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestPiecesAreBounded$", Says: `want at most`}},
		},
		{
			Name: "a wait that does not reach",
			Why:  "checks that wait spend line further ahead, by their wait; replicas that have forgotten it must keep off as much more",
			Edits: []Edit{{
				File: "actor/limit/compile.go",
				Old:  "if rule.reach += int64(l.MaxWait); rule.reach > int64(MaxFill) {",
				New:  "if rule.reach > int64(MaxFill) {",
			}},
			Caught: []Hunt{
				{Package: "./actor/limit", Run: "^TestEveryAlgorithmSaysWhenACheckBegins$", Says: `with a reach of`},
				{Package: "./actor/owner", Run: "^TestWaitReachesFurther$", Says: `answered false`},
			},
		},
		{
			Name: "a wait that counts as of now",
			Why:  "a check that waits is spent as one of the time at which it begins; as one of now, it takes line of limits that are full again by then",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "span := b.spend(c.At, t.at, t.length)",
				New:  "span := b.spend(c.At, c.At, t.length)",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestWhatBeginsKeepsToTheBound$", Flags: rapid(), Says: `ns of line begin, more than`},
				{Package: "./cluster-tests/simulation", Run: "^TestFixedSeeds$", Says: `lies outside of what can be spent at`},
			},
		},
		{
			Name: "waits that are forgotten",
			Why:  "an owner knows until when callers wait whose times are told; forgotten, a place that comes back moves up among them, and two begin where there is one token",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "if t.waits > 0 {",
				New:  "if t.waits < 0 {",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestWhatBeginsKeepsToTheBound$", Flags: rapid(), Says: `ns of line begin, more than`},
				{Package: "./cluster-tests/simulation", Run: "^TestFixedSeeds$", Says: `tokens more are admitted than come back in it`},
			},
		},
		{
			Name: "a place that moves up",
			Why:  "while checks wait whose times are told, returned line is spent in its place only; moved up to the end, two begin where there is one token",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "return r.waits > 0 || at > t }",
				New:  "return false }",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestHoldsBesideWaitsAreExact$", Says: `want it to begin at`},
				{Package: "./actor/owner", Run: "^TestWhatBeginsKeepsToTheBound$", Says: `ns of line begin, more than`},
			},
		},
		{
			Name: "a stranger's receipt",
			Why:  "a return takes effect at the owner that made the receipt only; at every other one, the same receipt would be returned once more",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "r.Owner == o.id && r.Generation == b.gen",
				New:  "r.Generation == b.gen",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestReturnOfWhatIsNotMine$", Says: `another owner: took effect`}},
		},
	}
}
