package mutants

// ofActor are mutants of the running system of a node.
func ofActor() []Mutant { //nolint:funlen // a list
	return []Mutant{
		{
			Name: "block that charges",
			Why:  "a check that an override denies takes nothing, of its other limits neither",
			Edits: []Edit{{
				File: "actor/override.go",
				Old:  "m.cost, m.receipt = 0, false",
				New:  "m.receipt = false",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestOverridesOfOtherRequests$", Says: `a block costs something`}},
		},
		{
			Name: "answer before the reservation",
			Why:  "an owner spends what a majority has accepted; if it spends what it has only asked for, that line may be another owner's, or be forgotten",
			Edits: []Edit{
				{
					File: "actor/sending.go",
					Old:  "replica.Reserve(s.reservations, s.done[r])",
					New:  "answerFirst(replica, s.reservations, s.done[r])",
				},
				{
					File: "actor/sending.go",
					Old:  "// maxSpareSendings is",
					New: `func answerFirst(r Replica, batch []register.Reservation, done func([]register.Answer, error)) {
	answers := make([]register.Answer, len(batch))
	for i, m := range batch {
		answers[i] = register.Answer{Verdict: register.Accepted, Position: m.To, Generation: m.Generation, Epoch: m.Epoch}
	}
	batch = append([]register.Reservation(nil), batch...)
	done(answers, nil)
	r.Reserve(batch, func([]register.Answer, error) {})
}

// maxSpareSendings is`,
				},
			},
			Caught: []Hunt{
				{Package: "./actor", Run: "^TestTwoOwners$", Says: `\{key:one limit:fast generation:0\}: .* and `},
				{Package: "./actor", Run: "^TestCrashes$", Says: `\{key:user:\d limit:fast generation:0\}: .* and `},
				{Package: "./cluster-tests", Run: "^TestKill9$", Says: `overlap`},
			},
		},
		{
			Name: "old clock reading",
			Why:  "a check is decided by a time read after it arrived; by an older one it spends line that has passed, besides all that there is now",
			Edits: []Edit{
				{
					File: "actor/turn.go",
					Old:  "\tnow = sh.cfg.Now()\n\tsh.heat.roll(now)\n\tsh.receiveAll(now)\n\tif err := sh.serving()",
					New:  "\tnow = sh.read\n\tif sh.read = sh.cfg.Now(); now == 0 {\n\t\tnow = sh.read\n\t}\n\tsh.heat.roll(now)\n\tsh.receiveAll(now)\n\tif err := sh.serving()",
				},
				{
					File: "actor/shard.go",
					Old:  "\tprefetched int        // means nothing: see prefetch\n",
					New:  "\tprefetched int        // means nothing: see prefetch\n\tread    int64\n",
				},
			},
			Caught: []Hunt{
				{Package: "./actor", Run: "^TestLinearizable$", Says: `round \d+, seed`},
			},
		},
		{
			Name: "one name for all lives",
			Why:  "each life of a process has a name of its own; under the last one's, numbers repeat, and what was spent passes for a repetition",
			Edits: []Edit{{
				File: "actor/system.go",
				Old:  "if _, err := rand.Read(s.id[:]); err != nil {",
				New:  "if _, err := rand.Read(nil); err != nil {",
			}},
			Caught: []Hunt{
				{Package: "./actor", Run: "^TestNumbersAreNotUsedAgain$/^after_a_restart$", Says: `was spent twice`},
				{Package: "./actor", Run: "^TestNew$", Says: `two Systems are called`},
			},
		},
		{
			Name: "segments handed over",
			Why:  "a node that stops takes its segments with it; handed to the next owner, they are handed over twice when there are two",
			Edits: []Edit{
				{
					File: "actor/turn.go",
					Old:  "\tsh.actors.add(m.hash, a)\n",
					New:  "\tif left, ok := handedOver.Load(a.key); ok {\n\t\ta.owner = left.(owner.Owner)\n\t\ta.owner.Terms = at.terms\n\t}\n\tsh.actors.add(m.hash, a)\n",
				},
				{
					File: "actor/turn.go",
					Old:  "// turn takes",
					New:  "var handedOver sync.Map // owner.Owner by key\n\n// turn takes",
				},
				{File: "actor/turn.go", Old: "\t\"strings\"\n", New: "\t\"strings\"\n\t\"sync\"\n"},
				{
					File: "actor/shard.go",
					Old:  "\t\tsh.forget(a, errStopping)\n",
					New:  "\t\thandedOver.Store(a.key, a.owner)\n\t\tsh.forget(a, errStopping)\n",
				},
			},
			Caught: []Hunt{{Package: "./actor", Run: "^TestCloseHandsOverNothing$", Says: `Receipt:`}},
		},
		{
			Name: "a crashed actor goes on",
			Why:  "an actor that panicked is forgotten, its segment included; what it goes on with may be half done",
			Edits: []Edit{{
				File: "actor/turn.go",
				Old:  "\t\ta.requests.fail(ErrInternal)\n\t}\n\tsh.remove(a)",
				New:  "\t\ta.requests.fail(ErrInternal)\n\t}",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestPanic$", Says: `an actor that was forgotten took back a receipt`}},
		},
		{
			Name: "a clock moved by those that are heard",
			Why:  "a clock is put forward only if a majority of all members is ahead of it; of the members that are heard, a majority may be wrong",
			Edits: []Edit{{
				File: "actor/clock/comparison.go",
				Old:  "if middle := (c.Members-1)/2 - silent; c.Members > 0 && middle >= 0 {",
				New:  "if middle := (len(clocks) - 1) / 2; c.Members > 0 && silent >= 0 {",
			}},
			Caught: []Hunt{{Package: "./actor/clock", Run: "^TestComparison$", Says: `two are ahead and one is silent: .* it is 32 behind`}},
		},
		{
			Name: "a clock moved by old readings",
			Why:  "a silent member may have been wrong when it answered last; counted together with one that is wrong now, it moves a right clock",
			Edits: []Edit{{
				File: "ring/cluster/clocks/clocks.go",
				Old:  "Ahead: answered}",
				New:  "Ahead: slices.Collect(maps.Values(k.offsets))}",
			}},
			Caught: []Hunt{{Package: "./ring/cluster/clocks", Run: "^TestOldReadingMovesNoClock$", Says: `put forward by \d+ ms`}},
		},
		{
			Name: "a clock moved by one half",
			Why:  "of two pairs of clocks it cannot be told which is wrong; by the upper middle, half of the members moves a right clock",
			Edits: []Edit{{
				File: "actor/clock/comparison.go",
				Old:  "\t\treturn max(0, clocks[middle])",
				New:  "\t\treturn max(0, clocks[min(len(clocks)-1, middle+1-len(clocks)%2)])",
			}},
			Caught: []Hunt{{Package: "./actor/clock", Run: "^TestComparison$", Says: `half is no majority: it is 32 behind`}},
		},
		{
			Name: "a request charged twice",
			Why:  "a caller who asks again with the same id gets the same answer; decided anew, the retry is charged once more",
			Edits: []Edit{{
				File: "actor/requests.go",
				Old:  "if r != nil && (r.retryDue(now) || r.over(now)) {",
				New:  "if r != nil && r.first == nil {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestRepeatedRequest$", Says: `: again `}},
		},
		{
			Name: "a repetition is told of what is over",
			Why:  "a place whose permit is over may be another's; whoever asks again with the same id then is decided anew",
			Edits: []Edit{{
				File: "actor/requests.go",
				Old:  "r.retryDue(now) || r.over(now)",
				New:  "r.retryDue(now)",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestRepeatedWhenItIsOver$", Says: `two have one place`}},
		},
		{
			Name: "a hold that was freed is told again",
			Why:  "what a hold frees when it expires may be another's; whoever asks again with the same id then is decided anew",
			Edits: []Edit{{
				File: "actor/requests.go",
				Old:  "case m.hold > 0 && rule.Holds.OnExpiry == limit.Free:",
				New:  "case m.hold < 0 && rule.Holds.OnExpiry == limit.Free:",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestRepeatedWhenTheHoldIsOver$", Says: `once it is over, it is told`}},
		},
		{
			Name: "a request of a settled hold is told again",
			Why:  "what a settlement gives back may be another's; whoever is told the same hold for its id works without being charged",
			Edits: []Edit{{
				File: "actor/requests.go",
				Old:  "if now.Returned > 0 {",
				New:  "if now.Returned < 0 {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestSettlementForgetsTheRequest$", Says: `it is told what was settled`}},
		},
		{
			Name: "a returned request is told again",
			Why:  "what was returned is no longer charged; if the answer is repeated for its id, it admits work without end",
			Edits: []Edit{{
				File: "actor/giveback.go",
				Old:  "m.other.returned[i] = took; (took || r.Permit) && a.requests != nil {",
				New:  "m.other.returned[i] = took; (took || r.Permit) && a.requests == nil {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestReturnForgetsTheRequest$", Says: `was not charged`}},
		},
		{
			Name: "one line for all callers",
			Why:  "callers take turns; in a single queue, a caller that floods delays every other caller",
			Edits: []Edit{{
				File: "actor/inbox.go",
				Old:  "caller := ms[0].bundle.caller",
				New:  "caller := limit.Caller(nil)",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestCallersTakeTurns$", Says: `keys of \d+ callers were served before`}},
		},
		{
			Name: "receipts are kept whatever they take",
			Why:  "what a caller has a node remember has a bound; without, invented keys with receipts end the node",
			Edits: []Edit{{
				File: "actor/upkeep.go",
				Old:  "n[shedReceipts] += a.owner.ForgetReturns()",
				New:  "n[shedReceipts] += 0",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestBudget$", Says: `were refused, and none need be|nothing of receipts was counted|bytes are held after`}},
		},
		{
			Name: "line that is held is never given up",
			Why:  "a key may hold days of a slow limit's line: keys that no caller uses any more must not take the memory of all others",
			Edits: []Edit{{
				File: "actor/upkeep.go",
				Old:  "		if sh.dormant.n > 0 {",
				New:  "		if sh.dormant.n < 0 {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestHeldLineIsGivenUp$", Says: `were refused after \d+, and none need be`}},
		},
		{
			Name: "dormant keys are let go last",
			Why:  "dormant keys that are kept while memory is short make every receipt and every hold worth nothing, since what keys remember that are awake goes in their place",
			Edits: []Edit{{
				File: "actor/upkeep.go",
				Old:  "		if sh.dormant.n > 0 {",
				New:  "		if sh.dormant.n > 0 && sh.held > sh.budget.line {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestDormantKeysGoFirst$", Says: `tokens are left of 1000, of which 400 came back`}},
		},
		{
			Name: "open holds are let go like any line",
			Why:  "what a hold can still give back is most of a bucket: keys that hold a twentieth of one are let go before it",
			Edits: []Edit{{
				File: "actor/upkeep.go",
				Old:  "	if what == shedLine || sh.held > sh.budget.holds {",
				New:  "	if what == shedLine || sh.held > sh.budget.line {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestHoldsAreGivenUpLast$", Says: `tokens are left of 1000, of which 1 was used`}},
		},
		{
			Name: "the line of a dormant key is restored twice",
			Why:  "an actor that goes on with the line of a dormant key takes it out of the shard; left there, the next actor of the key spends it again",
			Edits: []Edit{{
				File: "actor/dormant.go",
				Old:  "	if rest, ok = of.rests[k]; ok {",
				New:  `	if rest, ok = of.rests[k]; ok && key == "" {`,
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestDormantLineIsRestoredOnce$", Says: `0 keys are awake and 1 dormant`}},
		},
		{
			Name: "the line of a dormant key outlives its partition",
			Why:  "where a partition goes, or goes on in another epoch, what its dormant keys hold is given up: a rest does not tell where its partition was since",
			Edits: []Edit{{
				File: "actor/dormant.go",
				Old:  "	if of.terms != at.terms && of.terms != nil {",
				New:  "	if of.terms != at.terms && of.terms == nil {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestDormantLineGoesWithItsPartition$", Says: `, with 0 writes`}},
		},
		{
			Name: "a dormant key forgets what it has spent",
			Why:  "of its segment, a dormant key keeps only what is not spent yet; whole, it is spent again",
			Edits: []Edit{{
				File: "actor/owner/rest.go",
				Old:  "tat: r.tat, held: segment{from, r.to}",
				New:  "tat: limit.Pos{}, held: segment{from, r.to}",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestModelOfDormantKeys$/^settings$/^reserving_ahead$", Says: `is spent twice`},
				{Package: "./actor", Run: "^TestDormantKeyGoesOn$", Says: `1000 were admitted, want the 960`},
			},
		},
		{
			Name: "a dormant key forgets how far its line lies",
			Why:  "under a shorter rule, line that was reserved too far ahead is given up, of a dormant key too; kept, it is spent a second time where replicas have forgotten",
			Edits: []Edit{{
				File: "actor/owner/rest.go",
				Old:  "far: r.far, load",
				New:  "load",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestShorterRuleGivesUpAsMuchOfARest$", Says: `restored up to`}},
		},
		{
			Name: "invented limits count only while a check waits",
			Why:  "each check of a key looks through its buckets: there must be few, also while no check waits",
			Edits: []Edit{{
				File: "actor/budget.go",
				Old:  "if a.owner.Buckets() < most || a.owner.Knows(m.rules) {",
				New:  "if a.owner.Waiting() == 0 || a.owner.Buckets() < most || a.owner.Knows(m.rules) {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestInventedLimitsStayFew$", Says: `the actor keeps \d+ buckets`}},
		},
	}
}
