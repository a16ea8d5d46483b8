package mutants

// ofLeases are those of line that owners pass down to edges: the naive forms of its rules.
func ofLeases() []Mutant { //nolint:funlen // a list
	model := func(says string) []Hunt {
		return []Hunt{{Package: "./actor/owner", Run: "^TestModelOfLeases$", Says: says}}
	}
	return []Mutant{
		{
			Name: "a lease of returned line",
			Why:  "a lease is fresh line; credit is a length, and the line behind TAT less the credit may be spent, or leased to another edge",
			Edits: []Edit{{
				File: "actor/owner/lease.go",
				Old:  "from = max(b.tat.Ceil(), r.Begin(c.At+c.LeaseAfter))",
				New:  "from = max(b.spentAt(c.At).Ceil(), r.Begin(c.At+c.LeaseAfter))",
			}},
			Caught: model(`is leased, and is not fresh`),
		},
		{
			Name: "line that begins while it is spent",
			Why:  "who knows no positions spends what he got at any time until it ends, as Envoy does: line that time has passed by then was given to others, too",
			Edits: []Edit{{
				File: "actor/owner/lease.go",
				Old:  "from = max(b.tat.Ceil(), r.Begin(c.At+c.LeaseAfter))",
				New:  "from = max(b.tat.Ceil(), begin)",
			}},
			Caught: model(`is spent by who knows no positions, and has begun`),
		},
		{
			Name: "credit beside a lease",
			Why:  "while an edge holds line, what came back is spent in its place; by its length, it is spent at the same time as the lease",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "b.noteWait(until + o.cfg.Late)",
				New:  "_ = until",
			}},
			Caught: model(`more is admitted than comes back in it`),
		},
		{
			Name: "a lease of the past",
			Why:  "an edge spends line from its now on; line that time has passed has come back to the bucket by itself",
			Edits: []Edit{{
				File: "actor/lease/lease.go",
				Old:  "start = limit.Later(h.at, limit.At(rule.Begin(now)))",
				New:  "start = h.at",
			}},
			Caught: model(`more is admitted than comes back in it`),
		},
		{
			Name: "a lease that is never over",
			Why:  "an edge that was frozen spends nothing of a lease that is over meanwhile: a reset or a change of the limit counts on that",
			Edits: []Edit{{
				File: "actor/lease/lease.go",
				Old:  "now < h.lease.Until && !end.After(h.end) && !end.After(rule.Bound(now))",
				New:  "!end.After(h.end) && !end.After(rule.Bound(now))",
			}},
			Caught: []Hunt{{Package: "./actor/lease", Run: "^TestUntil$", Says: `took `}},
		},
		{
			Name: "a lease spent far ahead",
			Why:  "what an edge spends lies no further from its now than a bucket reaches, as what an owner spends does",
			Edits: []Edit{{
				File: "actor/lease/lease.go",
				Old:  "now < h.lease.Until && !end.After(h.end) && !end.After(rule.Bound(now))",
				New:  "now < h.lease.Until && !end.After(h.end)",
			}},
			Caught: []Hunt{{Package: "./actor/lease", Run: "^TestNoFurtherThanTheBucket$", Says: `took `}},
		},
		{
			Name: "a lease that is taken twice",
			Why:  "an answer counts once, and only while its number is open; one that arrives again is line that is spent or given back",
			Edits: []Edit{{
				File: "actor/lease/lease.go",
				Old:  "if !b.open || number != b.last {",
				New:  "if false {",
			}},
			Caught: model(`which is not leased, or spent or given back|had come back, or was spent`),
		},
		{
			Name: "given back, and spent all the same",
			Why:  "what an edge gives back is gone before it is sent: the owner may spend it before the edge hears of that",
			Edits: []Edit{{
				File: "actor/lease/lease.go",
				Old:  "\t\t\th.end = limit.At(from)\n",
				New:  "",
			}},
			Caught: model(`which is not leased, or spent or given back|had come back, or was spent`),
		},
		{
			Name: "spent, and given back all the same",
			Why:  "an edge gives back the end of its lease, and not what it has spent of it",
			Edits: []Edit{{
				File: "actor/lease/lease.go",
				Old:  "from := b.rule.Add(limit.Later(h.at, limit.At(b.rule.Begin(now))), b.rule.Length(keep)).Ceil()",
				New:  "from := h.lease.Start",
			}},
			Caught: model(`had come back, or was spent`),
		},
		{
			Name: "taken back twice",
			Why:  "what an edge has spent comes back to it once; twice, it is spent twice",
			Edits: []Edit{{
				File: "actor/edge/given.go",
				Old:  "p, g.ring[at] = g.ring[at], spent{}",
				New:  "p = g.ring[at]",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestReturns$", Says: `they come back again`}},
		},
		{
			Name: "a lease of a clock that is off",
			Why:  "an edge spends by its own clock: where that differs by too much from the owner's, what it spends in a second may be line of the next ones",
			Edits: []Edit{{
				File: "actor/lease/share.go",
				Old:  "if l != nil && !compares(&a, most) {",
				New:  "if false {",
			}},
			Caught: []Hunt{{Package: "./actor/lease", Run: "^TestShareComparesClocks$", Says: `the lease is taken is true`}},
		},
		{
			Name: "an owner leases to any clock",
			Why:  "an owner refuses an edge whose clock is off, so that the edge hears why it gets no lease",
			Edits: []Edit{{
				File: "actor/resolve.go",
				Old:  "max(off, -off) > s.cfg.Bounds.EpsMax",
				New:  "max(off, -off) < 0",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestLeaseRefused$", Says: `the clock is ahead`}},
		},
		{
			Name: "a lease under other numbers",
			Why:  "an edge that goes by other numbers than the owner would spend tokens of another size of the same line",
			Edits: []Edit{{
				File: "actor/resolve.go",
				Old:  "if rule.LeaseTerms() != m.lease.Terms {",
				New:  "if false {",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestLeaseRefused$", Says: `other numbers`}},
		},
		{
			Name: "a lease is kept over a jump of the clock",
			Why:  "where the machine was suspended, or its clock was set, what an edge holds may be spent too late: it drops all",
			Edits: []Edit{{
				File: "actor/edge/clock.go",
				Old:  "\t\t\tc.jumps.Add(1)\n",
				New:  "",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestClockJumps$", Says: `jump`}},
		},
		{
			Name: "a key is forgotten with its leases",
			Why:  "an owner that has leased line stays awake until the lease is over: otherwise what edges give back of a long window is lost",
			Edits: []Edit{{
				File: "actor/owner/bucket.go",
				Old:  "return max(until, b.leases().until(), b.reporters().until(ends))",
				New:  "return max(until, b.reporters().until(ends))",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestLeasesKeepTheirOwnerAwake$", Says: `idle`}},
		},
		{
			Name: "only the first tail comes back",
			Why:  "an edge gives back in parts what it does not need; a part that comes after the first one is lost for the rest of a window otherwise",
			Edits: []Edit{{
				File: "actor/owner/returns.go",
				Old:  "m.end, m.cut = from, true",
				New:  "m.back = true",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestTailOfALease$", Says: `does not come back`}},
		},
		{
			Name: "what the cluster denies is spent here",
			Why:  "a check of several limits takes of all or of none: what this edge took goes back where the cluster denies the rest",
			Edits: []Edit{{
				File: "actor/edge/take.go",
				Old:  "\tif !d.Allowed {\n\t\te.putBack(took)",
				New:  "\tif false {\n\t\te.putBack(took)",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestDeniedFloodTakesNothing$", Says: `are left`}},
		},
		{
			Name: "receipts of edges are numbered in turn",
			Why:  "who holds a receipt must not be able to return the admissions of others",
			Edits: []Edit{{
				File: "actor/edge/given.go",
				Old:  "return max(binary.LittleEndian.Uint64(bits[:]), 1)",
				New:  "inTurn++\n\treturn inTurn",
			}, {
				File: "actor/edge/given.go",
				Old:  "// number is one that cannot be guessed.",
				New:  "var inTurn uint64\n\nvar _ = binary.LittleEndian\n\n// number is one that cannot be guessed.",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestReceiptsCannotBeGuessed$", Says: `true`}},
		},
		{
			Name: "edges spend what others heard of",
			Why:  "of what is left each edge takes its share: all of it at each of eight edges is eight times as much, again and again",
			Edits: []Edit{{
				File: "actor/lease/counted.go",
				Old:  "if c.share == 1 || length",
				New:  "if c.share <= 1 || length",
			}},
			Caught: []Hunt{{Package: "./actor/lease", Run: "^TestCountedTakesItsShare$", Says: `were admitted`}},
		},
		{
			Name: "a denial of any node is repeated",
			Why:  "an edge repeats denials of the node that decides about a key first; another one has little of the key's line, and denies what would pass",
			Edits: []Edit{{
				File: "actor/edge/take.go",
				Old:  " || placed && places.First(key) != d.Node {",
				New:  " || placed && places.First(key) == \"\" {",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestDenialsThatAreNotRepeated$", Says: `0 checks were put to the node, want 1`}},
		},
		{
			Name: "a look asks for a lease",
			Why:  "what a look asks for nobody sends: later checks of the bucket wait for an answer that never comes",
			Edits: []Edit{{
				File: "actor/lease/share.go",
				Old:  "func (s *Share) Look(now, cost int64) Verdict {\n",
				New:  "func (s *Share) Look(now, cost int64) Verdict {\n\ts.refill(now, cost, s.note(now, cost))\n",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestLookedAtAsksForNothing$", Says: `never asked for`}},
		},
		{
			Name: "a local limit is gone in an outage",
			Why:  "what an edge has decided stays decided where no node decides the rest: otherwise the policy of another limit lets everything pass",
			Edits: []Edit{{
				File: "actor/edge/take.go",
				Old:  "return limit.Decision{}, byOwner, e.undecided(r, took, rest, err)",
				New:  "e.putBack(took)\n\t\treturn limit.Decision{}, byOwner, err",
			}},
			Caught: []Hunt{{Package: "./gateway/fallback", Run: "^TestLocalLimitsHoldInAnOutage$", Says: `and the local limit is 10`}},
		},
		{
			Name: "a policy denies, and an edge has taken",
			Why:  "a check takes of all its limits or of none: where a policy denies, what the edge took comes back",
			Edits: []Edit{{
				File: "gateway/fallback/fallback.go",
				Old:  "if !v.Allowed {\n\t\tg.giveBack",
				New:  "if false {\n\t\tg.giveBack",
			}},
			Caught: []Hunt{{Package: "./gateway/fallback", Run: "^TestLocalLimitsComeBackInAnOutage$", Says: `is left, want`}},
		},
		{
			Name: "invented keys fill local buckets' room",
			Why:  "nobody but an edge decides about its local buckets: what the cluster can decide as well takes none of their room",
			Edits: []Edit{{
				File: "actor/edge/share.go",
				Old:  "\t\treturn ofEdge\n",
				New:  "\t\treturn ofOwners\n",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestInventedKeysLeaveLocalLimitsAlone$", Says: `are denied`}},
		},
		{
			Name: "a bucket for each plan",
			Why:  "the plans of a limit share a bucket, at edges as at owners: who changes plans gets one limit, not one for each",
			Edits: []Edit{{
				File: "actor/edge/share.go",
				Old:  "if !leases(rule) {",
				New:  "if false {",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestPlansShareABucket$", Says: `each of its plans allows 10`}},
		},
		{
			Name: "a change of a limit fills its buckets",
			Why:  "what was spent of a local bucket stays spent when its limit is changed; otherwise each change gives all of it away once more",
			Edits: []Edit{{
				File: "actor/lease/own.go",
				Old:  "o.tat, o.rule = rule.Carry(o.rule, o.tat), rule",
				New:  "o.tat, o.rule = limit.Pos{}, rule",
			}},
			Caught: []Hunt{{Package: "./actor/lease", Run: "^TestOwnUnderAnotherRule$", Says: `of thirty`}},
		},
		{
			Name: "time has brought it back, and a receipt does again",
			Why:  "a local bucket takes back only what time has not: otherwise it admits more than itself",
			Edits: []Edit{{
				File: "actor/lease/own.go",
				Old:  "\tstart = limit.Later(start, limit.At(o.rule.Begin(now)))\n",
				New:  "",
			}},
			Caught: []Hunt{{Package: "./actor/lease", Run: "^TestOwnTakesBackWhatTimeHasNot$", Says: `want 5`}},
		},
		{
			Name: "one jump of the clock, many drops",
			Why:  "who read the clock before a jump comes after who read it later: all would be dropped with every turn, and local buckets be full each time",
			Edits: []Edit{{
				File: "actor/edge/shares.go",
				Old:  "if jumps <= sh.jumps {",
				New:  "if jumps == sh.jumps {",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestAJumpDropsOnce$", Says: `are admitted of`}},
		},
		{
			Name: "edges go by an override that they do not know",
			Why:  "what an owner says of a key with an override is not what is left of its bucket, and nobody tells edges when the override ends",
			Edits: []Edit{{
				File: "actor/edge/limits.go",
				Old:  "return o.Override != \"\"",
				New:  "return o.Override != \"\" && false",
			}},
			Caught: []Hunt{
				{Package: "./actor/edge", Run: "^TestLiveOverridesCountForEventualLimits$", Says: `5 of 500 are admitted by the override, want 500`},
				{Package: "./actor/edge", Run: "^TestDenialsByLiveOverridesAreNotRepeated$", Says: `denied by an override that is gone`},
			},
		},
		{
			Name: "reports are checks",
			Why:  "what an edge reports was admitted already: where the bucket has not as much, it is debt",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  "bound := b.rule.BoundOfDebt(c.At)\n\tif c.Report",
				New:  "bound := b.rule.Bound(c.At)\n\tif c.Report",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestReportsAreChargedOnce$", Says: `line are spent`}},
		},
		{
			Name: "a report is charged as often as it comes",
			Why:  "a report whose answer is late is made again, by the same number; charged each time, a slow answer empties the bucket",
			Edits: []Edit{{
				File: "actor/owner/owner.go",
				Old:  ">= c.Report.Number {\n\t\tc.Cost = 0",
				New:  ">= c.Report.Number {\n\t\t_ = c.Cost",
			}},
			Caught: []Hunt{
				{Package: "./actor/owner", Run: "^TestReportsAreChargedOnce$", Says: `line are spent`},
				{Package: "./actor/edge", Run: "^TestReportsThatAreLate$", Says: `are left`},
			},
		},
		{
			Name: "a report as old as it says",
			Why:  "what is reported is paid for by line that has passed, of the time that a report can be late; of any time, who says that it is old pays for nothing",
			Edits: []Edit{{
				File: "actor/owner/charge.go",
				Old:  "min(max(c.Report.Age, 0), rule.Reports()+limit.OldestReport)",
				New:  "max(c.Report.Age, 0)",
			}},
			Caught: []Hunt{{Package: "./actor/owner", Run: "^TestReportsAreChargedAsOfThen$", Says: `an hour old`}},
		},
		{
			Name: "a report without an answer is dropped",
			Why:  "an edge makes a report again until it is answered: dropped, what it has admitted is never charged",
			Edits: []Edit{{
				File: "actor/lease/counted.go",
				Old:  "again := c.failed && c.report.some()",
				New:  "again := false",
			}},
			Caught: []Hunt{{Package: "./actor/lease", Run: "^TestCountedReportsAgain$", Says: `made again as`}},
		},
		{
			Name: "what comes back to a full bucket",
			Why:  "what comes back after its report is not reported again; more of it than the bucket lacks would be admitted twice",
			Edits: []Edit{
				{File: "actor/lease/counted.go", Old: "if piece.Over(c.rule, now) {", New: "if piece.Over(c.rule, 0) {"},
				{File: "actor/lease/counted.go", Old: "back := r.Sub(end, limit.Later(start, limit.At(r.Begin(now))))", New: "back := r.Sub(end, start)"},
				{File: "actor/lease/counted.go", Old: "if lacks := c.lacks(c.all, now); back.After(lacks) {", New: "if lacks := c.lacks(c.all, now); back.After(lacks) && now < 0 {"},
			},
			Caught: []Hunt{{Package: "./actor/lease", Run: "^TestCountedCredit$", Says: `full again`}},
		},
		{
			Name: "a lease outlives its limit",
			Why:  "what an edge holds under a limit that was changed, it does not spend under the new one",
			Edits: []Edit{{
				File: "actor/edge/share.go",
				Old:  "return s.Rule() == rule || s.Rule().Equal(rule)",
				New:  "return true",
			}},
			Caught: []Hunt{{Package: "./actor/edge", Run: "^TestLimitChanges$", Says: `under the new limit`}},
		},
		{
			Name: "a key that is not hot is leased",
			Why:  "a limit that is leased when its key is hot is exact for all others: edges that hold tokens of a key that few ask would deny, one for the other",
			Edits: []Edit{{
				File: "actor/heat.go",
				Old:  "now >= h.leased[a.key]",
				New:  "now < 0",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestLeaseWhenHot$", Says: `a key that was never checked is leased`}},
		},
	}
}
