package mutants

// ofCluster are mutants of what the nodes agree on.
func ofCluster() []Mutant {
	return []Mutant{
		{
			Name: "an old copy goes unnoticed",
			Why:  "a disk whose mark is lower than what a voter has seen is an old copy and joins as new; else it serves what it has forgotten",
			Edits: []Edit{{
				File: "ring/cluster/join.go",
				Old:  "a.Known && a.Mark.Compare(before) > 0:",
				New:  "a.Known && a.Mark.Compare(before) > 1:",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestOldCopyOfADisk$", Says: `somebody else has noticed the old copy`}},
		},
		{
			Name: "proved by nobody",
			Why:  "a node serves once a majority of the voters has answered for its disk; a minority may not know the newest mark",
			Edits: []Edit{{
				File: "ring/cluster/join.go",
				Old:  "if answered >= ring.Majority(voters) {",
				New:  "if answered >= 1 {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestProofCountsVoters$", Says: `of 3 voters`}},
		},
		{
			Name: "one mark for two",
			Why:  "a mark is raised, never repeated, by another process; else two run on copies of one disk, each without what the other accepts",
			Edits: []Edit{{
				File: "ring/cluster/apply.go",
				Old:  "case same && node.Mark.Minute < c.Mark.Minute, node.Mark.Boot < c.Mark.Boot:",
				New:  "case node.Mark.Minute <= c.Mark.Minute, node.Mark.Boot < c.Mark.Boot:",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestMarksRise$", Says: `<nil>, want the node has raised a higher mark already`}},
		},
		{
			Name: "promised to everybody",
			Why:  "an empty node promises its founding to one founder; promised to two, it is counted for two clusters that share its keys",
			Edits: []Edit{{
				File: "ring/cluster/promise.go",
				Old:  "held != nil && (held.Founder != p.Founder || held.Attempt > p.Attempt) {",
				New:  "held != nil && held.Founder == p.Founder && held.Attempt > p.Attempt {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestPromisesAreExclusive$", Says: `another founder's: <nil>`}},
		},
		{
			Name: "a vote in another's place",
			Why:  "raft asks whoever is at an address; an empty disk there, voting for the one it replaced, elects a leader without what was agreed on",
			Edits: []Edit{{
				File: "ring/cluster/stream.go",
				Old:  "if meant != s.id {",
				New:  "if false {",
			}},
			Caught: []Hunt{{Package: "./ring/cluster", Run: "^TestVotesInAnothersPlace$", Says: `elected by a server that is not the one that was asked`}},
		},
	}
}
