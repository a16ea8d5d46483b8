package mutants

// ofLevel are mutants of what nodes of neighboring releases may say to one another.
func ofLevel() []Mutant {
	return []Mutant{
		{
			Name: "raised for who was not asked",
			Why:  "the level is raised for the processes that have said that they know it: one that was started since may be of the release before, and would end",
			Edits: []Edit{{
				File: "ring/agreed/raise.go",
				Old:  "if !maps.Equal(running, c.Processes) {",
				New:  "if len(running) < len(c.Processes)-1 && !maps.Equal(running, c.Processes) {",
			}},
			Caught: []Hunt{{Package: "./ring/agreed", Run: "^TestRaiseIsForWhoWasAsked$", Says: `want the state has changed meanwhile`}},
		},
		{
			Name: "let in by the level before",
			Why:  "who was let in while the level was raised is refused, and asks again: a node of the release before would be a member that knows nothing of it",
			Edits: []Edit{{
				File: "ring/agreed/raise.go",
				Old:  "lets && by != s.AgreedLevel()",
				New:  "lets && by > s.AgreedLevel()",
			}},
			Caught: []Hunt{{Package: "./ring/agreed", Run: "^TestRaiseKeepsOutWhoWasLetInBefore$", Says: `want the state has changed meanwhile`}},
		},
		{
			Name: "raised without a member",
			Why:  "a member that does not answer may be of an older release: the level stays until it has said what it knows",
			Edits: []Edit{{
				File: "ring/cluster/upgrade.go",
				Old:  "case len(silent) > 0:",
				New:  "case len(silent) > len(u.Members)/2:",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestLevelIsNotRaisedWithoutAMember$", Says: `without a it is raised`}},
		},
		{
			Name: "a later level's command at once",
			Why:  "a command with a field of a later level is refused until the level is raised: a node of the release before ends at it",
			Edits: []Edit{{
				File: "ring/agreed/raise.go",
				Old:  "if needed := level.Needed(c); needed > s.AgreedLevel() {",
				New:  "if needed := level.Needed(c); needed > s.AgreedLevel()+1 {",
			}},
			Caught: []Hunt{{Package: "./ring/agreed", Run: "^TestAllowed$", Says: `a field of level 2 at level 1`}},
		},
		{
			Name: "a later level's algorithm at once",
			Why:  "limits of an algorithm of a later level are refused until the level is raised: a node of the release before ends at them",
			Edits: []Edit{{
				File: "ring/level/level.go",
				Old:  "if field.Kind() == reflect.String {",
				New:  "if field.Kind() == reflect.String && false {",
			}},
			Caught: []Hunt{{Package: "./ring/level", Run: "^TestNeeded$", Says: `a value of 2 takes level 1`}},
		},
	}
}

// ofReleases are mutants of which nodes of neighboring releases make a cluster.
func ofReleases() []Mutant {
	return []Mutant{
		{
			Name: "an older node in a raised cluster",
			Why:  "the leader lets in only who knows the level of the cluster; who does not would lose what it cannot read",
			Edits: []Edit{{
				File: "ring/cluster/joining/admit.go",
				Old:  "if knows.Has(now) {",
				New:  "if knows.Has(now) || knows.Newest == level.First {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestLeaderRefusesOlderNode$", Says: `one of an older release is let in`}},
		},
		{
			Name: "a founder's own level",
			Why:  "a cluster begins at a level that all its founders know, not only the one that decides",
			Edits: []Edit{{
				File: "ring/cluster/joining/found.go",
				Old:  "max(known.Oldest, l.Oldest), min(known.Newest, l.Newest)",
				New:  "max(known.Oldest, l.Oldest), max(known.Newest, l.Newest)",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestUpgrade$", Says: `this node knows level 1`}},
		},
	}
}
