package mutants

import "slices"

// ofStorage are mutants of how registers are kept.
func ofStorage() []Mutant { return slices.Concat(ofSyncing(), ofSweeping(), ofLives()) }

// crash is a hunt that cuts the power before every operation of the disk.
func crash(tests, says string) Hunt { return Hunt{Package: "./storage", Run: tests, Says: says} }

// ofSyncing are mutants of what is on the disk when an answer is given.
func ofSyncing() []Mutant {
	return []Mutant{
		{
			Name: "answer before fsync",
			Why:  "a replica answers after the fsync that covers the answer. Otherwise a power cut makes it forget what an owner spends",
			Edits: []Edit{{
				File: "storage/journal/journal.go",
				Old:  "err = j.file.SyncData()",
				New:  "_ = j.file.SyncData",
			}},
			Caught: []Hunt{
				crash("^TestCrashFsync$", `its register is gone|is free from \d+ ms on`),
			},
		},
		{
			Name: "seal without fsync",
			Why:  "a seal is answered after its fsync. Otherwise a power cut breaks it, and the old set goes on beside the new one",
			Edits: []Edit{{
				File: "storage/step.go",
				Old:  "b.Commit(pebble.Sync)",
				New:  "b.Commit(pebble.NoSync)",
			}},
			Caught: []Hunt{crash("^TestCrashMoves", `want one of`)},
		},
		{
			Name: "repeat answered early",
			Why:  "a repetition gets the first one's answer after the first one's fsync; given at once, it vouches for what a power cut takes back",
			Edits: []Edit{{
				File: "storage/commit.go",
				Old:  "\t\twrites += n\n\t}\n\treturn writes, nil",
				New: `		if writes += n; n == 0 && j.look == nil {
			j.done(j.answers, nil)
			j.done = func([]register.Answer, error) {}
		}
	}
	return writes, nil`,
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestRepetitionWaitsForTheFsync$", Says: `sending 2 is answered before the fsync`}},
		},
		{
			Name: "drop without fsync",
			Why:  "that registers were dropped is durable no later than that they are gone. Otherwise their partition passes for complete",
			Edits: []Edit{{
				File: "storage/epoch.go",
				Old:  "b.Commit(pebble.Sync)",
				New:  "b.Commit(pebble.NoSync)",
			}},
			Caught: []Hunt{crash("^TestCrashWhileDropping$", `its register is gone`)},
		},
	}
}

// ofSweeping are mutants of how registers are forgotten.
func ofSweeping() []Mutant {
	return []Mutant{
		{
			Name: "swept without a horizon",
			Why:  "the horizon is raised with a sweep. Otherwise a bucket whose register is gone passes for one that was never used",
			Edits: []Edit{{
				File: "storage/housekeeping.go",
				Old:  "\t\ts.partitions[p] = part\n",
				New:  "",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestSweptLineStaysRefused$", Says: `want it swept with a horizon`}},
		},
		{
			Name: "the horizon is forgotten",
			Why:  "the horizon is on the disk together with the sweep. Otherwise the next life takes for free what was swept",
			Edits: []Edit{{
				File: "storage/disk.go",
				Old:  "del.batch.Set(partitionKey(p), part.Append(nil), nil); err != nil",
				New:  "error(nil); err != nil",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestSweptLineStaysRefused$", Says: `want it swept with a horizon`}},
		},
		{
			Name: "the horizon at now",
			Why:  "the horizon stays a minute behind the clock, longer than any check waits; at now it takes line that checks are still due",
			Edits: []Edit{{
				File: "storage/housekeeping.go",
				Old:  "part.Horizon = max(part.Horizon, now-horizonLag)",
				New:  "part.Horizon = max(part.Horizon, now)",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestSweepDeletesOnlyWhatIsSpent$", Says: `exists: false, want true`}},
		},
	}
}

// ofLives are mutants of what a store knows when it starts.
func ofLives() []Mutant { //nolint:funlen // a list
	return []Mutant{
		{
			Name: "killed in memory, and no floor",
			Why:  "registers kept in memory are gone after a kill, and a floor stands for them; without it every bucket is full again",
			Edits: []Edit{{
				File: "storage/start.go",
				Old:  "if m.completeness == onlyInMemory || s.cfg.Restored {",
				New:  "if s.cfg.Restored {",
			}},
			Caught: []Hunt{
				{Package: "./storage", Run: "^TestFloor$", Says: `the floor is .* after the last answer`},
				crash("^TestCrashMemory$", `its register is gone|is free from \d+ ms on`),
				{Package: "./actor", Run: "^TestRestartInMemory$", Says: `want an empty bucket|want a floor`},
			},
		},
		{
			Name: "a floor by a clock set back",
			Why:  "a floor lies behind no time that an earlier life may have seen; by a clock that was set back, it forgets what was reserved",
			Edits: []Edit{{
				File: "storage/start.go",
				Old:  "floor := max(now, m.ceiling, m.mark.Minute*int64(time.Minute))",
				New:  "floor := now",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestFloorAfterClockWasSetBack$", Says: `the floor is .* too low`}},
		},
		{
			Name: "restored disks are trusted",
			Why:  "a node that is started with --restored has a floor. Otherwise what was admitted after the copy was made is admitted again",
			Edits: []Edit{{
				File: "storage/start.go",
				Old:  "if m.completeness == onlyInMemory || s.cfg.Restored {",
				New:  "if m.completeness == onlyInMemory {",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestRestored$", Says: `want a floor of`}},
		},
		{
			Name: "the mark is not raised",
			Why:  "each life raises the disk's mark before it serves. Otherwise an old copy of the disk passes for the disk itself",
			Edits: []Edit{{
				File: "storage/start.go",
				Old:  "m.mark = Mark{Boot: m.mark.Boot + 1,",
				New:  "m.mark = Mark{Boot: max(m.mark.Boot, 1),",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestMark(Rises|NeverFalls|sAreReported)$", Says: `mark `}},
		},
		{
			Name: "an install without the registers",
			Why:  "a new member takes over the sources' registers; without them it accepts again what they had accepted",
			Edits: []Edit{{
				File: "storage/merge.go",
				Old:  "joined := mine.Join(x.Register)",
				New:  "joined := mine",
			}},
			Caught: []Hunt{
				{Package: "./storage", Run: "^TestMovesForgetNothing$", Flags: rapid(), Says: `was taken up to \d+, and is free from`},
				{Package: "./rpc/peers", Run: "^TestMove$", Says: `to what a majority has accepted before`},
				{Package: "./storage", Run: "^TestCrashMovesFsync$", Says: `was answered up to \d+ ms, and is free from`},
			},
		},
		{
			Name: "a spoiled copy installed",
			Why:  "what was dropped while it was copied is copied anew. Otherwise a partition is complete without what was dropped",
			Edits: []Edit{{
				File: "storage/epoch.go",
				Old:  "was == copyVoid {",
				New:  "was == copyVoid && false {",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestDropVoidsCopy$", Says: `want the partition's registers are not complete here`}},
		},
	}
}
