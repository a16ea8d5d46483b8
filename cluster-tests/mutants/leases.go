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
				Old:  "from = max(b.tat.Ceil(), begin)",
				New:  "from = max(b.spentAt(c.At).Ceil(), begin)",
			}},
			Caught: model(`is leased, and is not fresh`),
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
				Old:  "start := limit.Later(h.at, limit.At(b.rule.Begin(now)))",
				New:  "start := h.at",
			}},
			Caught: model(`more is admitted than comes back in it`),
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
				Old:  "\tb.Drop()\n\treturn tails",
				New:  "\treturn tails",
			}},
			Caught: model(`which is not leased, or spent or given back|had come back, or was spent`),
		},
		{
			Name: "spent, and given back all the same",
			Why:  "an edge gives back the end of its lease, and not what it has spent of it",
			Edits: []Edit{{
				File: "actor/lease/lease.go",
				Old:  "from := max(h.at.Ceil(), now); from < h.End",
				New:  "from := h.Start; from < h.End",
			}},
			Caught: model(`had come back, or was spent`),
		},
	}
}
