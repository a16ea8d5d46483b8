package mutants

import "slices"

// ofRegister are mutants of the replica's steps.
func ofRegister() []Mutant {
	return slices.Concat(ofAccepting(), ofJoining())
}

const registerFile = "storage/register/register.go"

// ofAccepting are mutants of what a replica accepts.
func ofAccepting() []Mutant { //nolint:funlen // a list
	accepted := func(more ...Hunt) []Hunt {
		return append([]Hunt{{Package: "./storage/register", Run: "^TestReserve$", Says: `verdict \d at \d+, want \d at \d+`}}, more...)
	}
	overlaps := Hunt{Package: "./storage/register", Run: "^TestAcceptedSegmentsNeverOverlap$", Flags: rapid(), Says: `overlap in generation`}
	model := func(setting string) Hunt {
		return Hunt{Package: "./actor/owner", Run: "^TestModel$/^settings$/^" + setting + "$", Says: modelSays}
	}
	return []Mutant{
		{
			Name: "blind maximum",
			Why:  "a replica accepts only line that is free; if it takes the larger of the two ends, it gives one segment to two owners",
			Edits: []Edit{
				{File: registerFile, Old: "case a.Position > m.From || m.To < m.From:", New: "case m.To < m.From:"},
				{File: registerFile, Old: "Generation: m.Generation, H: m.To, Expire:", New: "Generation: m.Generation, H: max(r.H, m.To), Expire:"},
			},
			Caught: accepted(overlaps, model("a_restart_and_a_longer_time")),
		},
		{
			Name: "already that far, so yes",
			Why:  "a repetition is known by its sender; if whatever is reserved already is granted again, two owners hold one segment",
			Edits: []Edit{{
				File: registerFile,
				Old:  "return r.Writer == m.Writer && r.Seq == m.Seq && r.Epoch == m.Epoch && r.Generation == m.Generation &&",
				New:  "return r.Generation == m.Generation && r.H >= m.To || r.Writer == m.Writer && r.Epoch == m.Epoch &&",
			}},
			Caught: []Hunt{overlaps, model("a_restart_and_a_longer_time")},
		},
		{
			Name: "repetition known by its number",
			Why:  "a repetition is the same in every field; by the number alone, another owner's reservation passes for it",
			Edits: []Edit{
				{
					File: registerFile,
					Old: `return r.Writer == m.Writer && r.Seq == m.Seq && r.Epoch == m.Epoch && r.Generation == m.Generation &&
		r.From == m.From && r.H == m.To && r.Reach == m.Reach && r.Inline == m.Inline && (m.Claim || bytes.Equal(r.Ledger, m.Ledger))`,
					New: `return r.Seq == m.Seq && r.Epoch == m.Epoch`,
				},
			},
			Caught: []Hunt{
				{Package: "./storage/register", Run: "^TestARepetitionGetsTheFirstAnswer$", Says: `another \w+ passes for a repetition`},
				model("a_restart_and_a_longer_time"),
			},
		},
		{
			Name: "epoch ignored",
			Why:  "a replica answers in its epoch only. Otherwise an old set's majority and a new set's accept the same line",
			Edits: []Edit{{
				File: registerFile,
				Old:  "case m.Epoch != p.Epoch:",
				New:  "case m.Epoch != p.Epoch && p.Epoch == 0:",
			}},
			Caught: accepted(changing()),
		},
		{
			Name: "no seal",
			Why:  "a member that has sealed accepts nothing more in its epoch. Otherwise what it accepts after its registers were read is forgotten",
			Edits: []Edit{{
				File: registerFile,
				Old:  "case p.Sealed:",
				New:  "case p.Sealed && p.Epoch == 0:",
			}},
			Caught: accepted(changing()),
		},
		{
			Name: "no floor",
			Why:  "a replica that cannot know what it has accepted refuses line up to the floor. Otherwise a lost disk is a full bucket",
			Edits: []Edit{{
				File: registerFile,
				Old:  "if p.Floored {",
				New:  "if p.Floored && p.Horizon > p.Floor {",
			}},
			Caught: accepted(model("a_lost_disk,_soon")),
		},
		{
			Name: "floor without the reach",
			Why:  "a floor lies as far ahead as any owner may have reserved by then; a floor at now forgets what was reserved ahead",
			Edits: []Edit{{
				File: registerFile,
				Old:  "free = max(free, p.Floor+lead+b.Slack())",
				New:  "free = max(free, p.Floor)",
			}},
			Caught: accepted(model("a_lost_disk,_soon")),
		},
		{
			Name: "horizon ignored",
			Why:  "line before the horizon is taken, since registers that ended there are gone. Otherwise a late message takes what was spent",
			Edits: []Edit{{
				File: registerFile,
				Old:  "free = max(free, p.Horizon)\n",
				New:  "\n",
			}},
			Caught: accepted(model("a_message_that_arrives_after_the_sweep")),
		},
		{
			Name: "clock not checked",
			Why:  "a replica refuses an owner whose clock differs too much. Otherwise what it admits lies in the future or the past",
			Edits: []Edit{{
				File: registerFile,
				Old:  "case a.Skew > b.EpsMax || a.Skew < -b.EpsMax:",
				New:  "case a.Skew > 1<<60:",
			}},
			Caught: accepted(),
		},
		{
			Name: "as far ahead as one likes",
			Why:  "no owner reserves further ahead than a floor or a reset expects; what lies beyond is forgotten by them",
			Edits: []Edit{{
				File: registerFile,
				Old:  "case m.To > now+m.Reach+b.Slack():",
				New:  "case m.To > now+m.Reach+b.Slack() && m.Reach < 0:",
			}},
			Caught: accepted(),
		},
		{
			Name: "a late reset forgives all",
			Why:  "a reset forgives what it knew of; what is reserved beyond its position counts in full, or it would be spent twice",
			Edits: []Edit{{
				File: registerFile,
				Old:  "if r.Generation < generation && r.H <= generation {",
				New:  "if r.Generation < generation {",
			}},
			Caught: accepted(model("a_reset,_done_or_failed_long_ago")),
		},
		{
			Name: "an old generation accepted",
			Why:  "after a reset the old generation is over. Otherwise both are spent side by side for ever",
			Edits: []Edit{{
				File: registerFile,
				Old:  "case m.Generation < r.Generation:",
				New:  "case m.Generation < 0:",
			}},
			Caught: accepted(model("a_reset")),
		},
		{
			Name: "a generation swept too early",
			Why:  "a register is swept when its generation lies behind too. Otherwise a reset is forgotten, and the old generation goes on",
			Edits: []Edit{{
				File: registerFile,
				Old:  "return r.H < horizon && r.Generation < horizon && r.Expire < horizon",
				New:  "return r.H < horizon && r.Expire < horizon",
			}},
			Caught: []Hunt{
				{Package: "./storage/register", Run: "^TestSwept$", Says: `at horizon 100: true, want false`},
				model("a_reset_long_ago,_and_a_sweep"),
			},
		},
	}
}

// changing is the model check of a replica set that changes.
func changing() Hunt {
	return Hunt{Package: "./actor/owner", Run: "^TestModelOfAChange$", Says: modelSays + `|and a majority had accepted`}
}

// ofJoining are mutants of what a replica takes over when the replica set changes.
func ofJoining() []Mutant { //nolint:funlen // a list
	forgotten := Hunt{Package: "./storage/register", Run: "^TestWhateverAMajorityAcceptedIsInEveryJoin$", Flags: rapid(), Says: `which \d+ accepted, is free from`}
	change := changing()
	return []Mutant{
		{
			Name: "one source for all",
			Why:  "enough sealed members share one with every majority; the registers of a single one lack what the others accepted",
			Edits: []Edit{{
				File: "storage/register/join.go",
				Old:  "case installed.exact > 0, sealed.exact >= enough:",
				New:  "case installed.exact > 0, sealed.exact >= 1:",
			}},
			Caught: []Hunt{
				{Package: "./storage/register", Run: "^TestJoin$", Says: `got .* want`},
			},
		},
		{
			Name: "the last register counts",
			Why:  "a member takes over the join of all sources; if it takes the last one it read, it forgets what the others accepted",
			Edits: []Edit{{
				File: "storage/register/join.go",
				Old:  "later, earlier := r, other\n",
				New:  "later, earlier := other, other\n",
			}},
			Caught: []Hunt{forgotten, change},
		},
		{
			Name: "the floor left behind",
			Why:  "where too few sealed members know all that was accepted, the new ones have a floor. Otherwise they vouch for what no member knows",
			Edits: []Edit{{
				File: "storage/register/join.go",
				Old:  "joined.Floored, joined.Floor = true, sealed.floor",
				New:  "joined.Floor = sealed.floor",
			}},
			Caught: []Hunt{
				{Package: "./storage/register", Run: "^TestJoin$", Says: `got .* want`},
				change,
			},
		},
		{
			Name: "a register taken over is repeated",
			Why:  "a register that was taken over is no accept of this replica's. Otherwise a repetition counts it for line that another owner was given",
			Edits: []Edit{{
				File: "storage/register/join.go",
				Old:  "later, earlier = other, r\n\t\tlater.Epoch = 0",
				New:  "later, earlier = other, r",
			}},
			Caught: []Hunt{
				{Package: "./storage/register", Run: "^TestJoinOfRegisters$", Says: `it passes for accepted here`},
			},
		},
		{
			Name: "what has ended is installed",
			Why:  "before a recovery a replica leaves all epochs of the lost nodes; installed late for one of them, it would enter it and accept",
			Edits: []Edit{{
				File: "storage/register/change.go",
				Old:  "p.Sealed, p.Installed = true, ring.Recovered(max(p.Epoch, p.Installed))-1",
				New:  "p.Sealed, p.Installed = true, min(0, ring.Recovered(p.Epoch))",
			}},
			Caught: []Hunt{{Package: "./storage/register", Run: "^TestSteps$", Says: `takes part in epoch . after its end`}},
		},
	}
}
