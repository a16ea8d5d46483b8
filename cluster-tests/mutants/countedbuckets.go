package mutants

// ofCountedBuckets are of token buckets whose holds are listed in a ledger: what stands in their queue, by the prices of several plans.
func ofCountedBuckets() []Mutant { //nolint:funlen // a list
	story := func(test, says string) Hunt { return Hunt{Package: "./actor/owner", Run: "^" + test + "$", Says: says} }
	return []Mutant{
		{
			Name: "in the queue as of its answer",
			Why:  "what was written counts as of then, behind what had still to come back; entered where that has come back, there is more in the bucket than is stored",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "\tl.countIn(each)\n\tfrom :=",
				New:  "\tl.pruneQueue()\n\tl.countIn(each)\n\tfrom :=",
			}},
			Caught: []Hunt{story("TestLateAnswerBehindAQueue", `are admitted in`)},
		},
		{
			Name: "less to give back as of its answer",
			Why:  "a hold stands in the bucket as of when it was written; what was written behind it has to refill, too, before that comes back",
			Edits: []Edit{{
				File: "actor/limit/ledgerhold.go",
				Old:  "l.toRefill(min(h.At, l.now))",
				New:  "l.toRefill(l.now)",
			}},
			Caught: []Hunt{story("TestHoldBeforeACheckThatIsAnsweredLate", `are spent`)},
		},
		{
			Name: "less to refill is not noted",
			Why:  "what a bucket had to refill since a hold was taken is noted before that grows; unless it is, a hold gives back what has come back by itself",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "\tl.lowered(min(at, l.now))\n",
				New:  "",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLedgerOfBucket$", Says: `have to come back`}},
		},
		{
			Name: "a full bucket forgets since when",
			Why:  "an owner whose clock is ahead has given the refill up to its own time; another one that does not know gives it again, and so in turn",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "l.now >= l.line.tat.Ceil()+l.late",
				New:  "l.now >= l.line.tat.Ceil()",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestRefillIsNotGivenByTwoOwners$", Says: `tokens have to come back, and an owner knows of`}},
		},
		{
			Name: "a hold that came back leaves a bucket full long ago",
			Why:  "a bucket that a settlement fills is full by the clock of who settles; as of before, others whose clocks are behind give the same refill again",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "\tl.line.tat = sub(l.line.tat, back, max(l.line.each.n, 1))",
				New:  "\tif l.line.tat = sub(l.line.tat, back, max(l.line.each.n, 1)); !l.line.tat.After(At(l.now)) {\n\t\tl.line.tat = Pos{}\n\t}",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestRefillIsNotGivenByTwoOwners$", Says: `tokens have to come back, and an owner knows of`}},
		},
		{
			Name: "older holds have it too",
			Why:  "what one hold gives back, no other hold of that time gives back again",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "h.Low = sub(h.Low, back, n)",
				New:  "h.Low = sub(h.Low, Pos{}, n)",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLedgerOfBucket$", Says: `have to come back`}},
		},
		{
			Name: "a plan that asks rounds the line",
			Why:  "plans that count in other parts of a nanosecond give nothing by rounding; where a token is about a nanosecond, each change of the plan would give one",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "l.line.tat = At(l.line.tat.Ceil())",
				New:  "l.line.tat = At(l.line.tat.NS)",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestPlansGiveNothingByRounding/spent$", Says: `have to come back, and 2000 were admitted`}},
		},
		{
			Name: "a hold of another plan comes back in other parts",
			Why:  "what a hold gives back is counted in its own parts of a nanosecond, and rounded down where the ledger counts in others",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "back.Frac = 0",
				New:  "back = At(back.Ceil())",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLedgerOfBucket$", Says: `have to come back`}},
		},
		{
			Name: "back at the price of who settles",
			Why:  "a hold gives back what it was taken for, whichever plan was asked for last; at another price, a slow plan is given what a fast one has spent, or the other way round",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "l.shorten(l.holds[i].each, amount, low)",
				New:  "l.shorten(l.queue.price, amount, low)",
			}},
			Caught: []Hunt{story("TestHoldIsSettledAtItsPrice", `are left, want`)},
		},
		{
			Name: "more at the price of who settles",
			Why:  "what was used beyond a hold is charged at the hold's price, whichever plan was asked for last",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "l.queueUp(l.now, amount, h.each)",
				New:  "l.queueUp(l.now, amount, l.queue.price)",
			}},
			Caught: []Hunt{story("TestHoldIsSettledAtItsPrice", `are left, want`)},
		},
		{
			Name: "debt in tokens of another plan",
			Why:  "the debt that is left is time; as so many tokens of a hold of a slow plan, a fast plan's debt is many times what it allows",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "if l.queue == nil || h.each == l.queue.price || room <= 0 {",
				New:  "if l != nil {",
			}},
			Caught: []Hunt{story("TestDebtIsTheTimeOfThePlan", `are charged, and there is time for`)},
		},
		{
			Name: "a bucket's floor of one plan",
			Why:  "a bucket that a majority has forgotten is closed until what the slowest plan may have spent has come back; by the plan that asks, it is spent again",
			Edits: []Edit{{
				File: "actor/limit/rule.go",
				Old:  "return max(r.counting.Lasts(), r.Lasting())",
				New:  "return r.counting.Lasts()",
			}},
			Caught: []Hunt{story("TestFloorLastsAsLongAsTheSlowestPlan", `was admitted`)},
		},
		{
			Name: "a slow plan that is gone",
			Why:  "what a plan has spent that a document has no longer counts until it has come back",
			Edits: []Edit{{
				File: "actor/limit/earlier.go",
				Old:  "if is < was.Lasting() {",
				New:  "if is < was.Ahead() {",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestEarlierNumbersLead$", Says: `was shortened from`}},
		},
		{
			Name: "a ledger in time for those who read tokens",
			Why:  "while a node of the cluster may be of a release that reads ledgers of buckets in tokens alone, they are written so",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "if l.inTokens(o.cfg) {",
				New:  "if !l.inTokens(o.cfg) {",
			}},
			Caught: []Hunt{story("TestLedgersInTokens", `has a ledger of layout`)},
		},
		{
			Name: "a node alone writes for the release before no more",
			Why:  "a data directory that the release before has begun can be read by it, so its ledgers stay in tokens",
			Edits: []Edit{{
				File: "cmd/node/open.go",
				Old:  "level.OfFormat(n.store.Format()) < level.LedgersInTime",
				New:  "level.OfFormat(n.store.Format()) < level.First",
			}},
			Caught: []Hunt{{Package: "./cmd/node", Run: "^TestDiskOfANodeAlone$", Says: `want a ledger of layout`}},
		},
		{
			Name: "tokens of the level before come back at once",
			Why:  "a ledger that the level before has written is read with all that it says",
			Edits: []Edit{{
				File: "actor/limit/ledgercodec.go",
				Old:  "add(At(e.At), l.queue.length(e.Amount), l.queue.n), e.At, e.Mine",
				New:  "At(e.At), e.At, e.Mine",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLedgerOfBucketOfTheLevelBefore$", Says: `have to come back after ten seconds`}},
		},
		{
			Name: "tokens as time at the level before",
			Why:  "while ledgers are in tokens, a bucket's stay as many when another plan asks; as time, each change multiplies them by the ratio of the refills",
			Edits: []Edit{{
				File: "actor/limit/ledgercodec.go",
				Old:  "l.known() == 0 {",
				New:  "l != nil {",
			}},
			Caught: []Hunt{story("TestPlansWhileLedgersAreInTokens", `were admitted by the fast plan of 10`)},
		},
		{
			Name: "an inspection in time at the level before",
			Why:  "what is shown of a bucket goes to other nodes, which may be of a release that reads tokens alone",
			Edits: []Edit{{
				File: "actor/owner/view.go",
				Old:  "v.Ledger = o.stored(l, full)",
				New:  "v.Ledger = full.Append(nil, o.id)",
			}},
			Caught: []Hunt{story("TestPlansWhileLedgersAreInTokens", `shown in layout 4`)},
		},
		{
			Name: "as many holds whatever they take",
			Why:  "a ledger that is larger than messages may be is refused by every replica, and with it all that waits beside it",
			Edits: []Edit{{
				File: "actor/limit/ledgerhold.go",
				Old:  "|| l.queue != nil && l.holds.fullOfBytes()",
				New:  "|| l.queue != nil && false && l.holds.fullOfBytes()",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLedgerOfABucketFits$", Says: `holds take \d+ bytes`}},
		},
		{
			Name: "a floor without overrides",
			Why:  "a bucket that a majority has forgotten is closed for as long as the slowest override of the document takes, too",
			Edits: []Edit{{
				File: "actor/limit/document.go",
				Old:  "lead = max(lead, o.Rule.Lasting())",
				New:  "lead = max(lead, o.Rule.Ahead())",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLeadOfABucket$", Says: `the limit leads`}},
		},
		{
			Name: "more that a hold took stays taken",
			Why:  "a hold that was reported to use more, and is settled for less, gives back both; otherwise the bucket counts what its settlement did not charge",
			Edits: []Edit{{
				File: "actor/limit/ledgerqueue.go",
				Old:  "\th.Low = add(h.Low, h.each.length(amount), max(h.each.n, 1))\n",
				New:  "",
			}},
			Caught: []Hunt{{Package: "./actor/limit", Run: "^TestLedgerOfBucket$", Says: `have to come back`}},
		},
		{
			Name: "debt of the plan that was asked last",
			Why:  "what may be charged beyond a hold is what its own plan has left, whichever plan somebody has looked at meanwhile",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "\t\tgoOn(s.Rule)\n",
				New:  "",
			}},
			Caught: []Hunt{story("TestDebtIsOfThePlanOfTheHold", `are charged`)},
		},
		{
			Name: "tokens again where there was time",
			Why:  "an owner that has not heard of the new level reads that it is there; in tokens, what it goes on from would come back at the refill of whoever reads it next",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "\t\tl.inTime = true\n",
				New:  "",
			}},
			Caught: []Hunt{story("TestOwnersOfTwoLevels", `shown in layout 3`)},
		},
		{
			Name: "rooms at the price of before",
			Why:  "tokens that are stored as such stay as many under every plan, and so do those that no check was given; at the price of before, more goes back than was taken",
			Edits: []Edit{{
				File: "actor/owner/ledger.go",
				Old:  "\t\trooms[i].by = rule\n",
				New:  "\t\t_ = i\n",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestModelOfVain$/^bucket,_in_tokens$", Says: `are left to another owner|are admitted of`}},
		},
	}
}
