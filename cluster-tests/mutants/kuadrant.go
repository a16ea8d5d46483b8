package mutants

// ofKuadrant are mutants of the door for Kuadrant, and of the holds that it takes.
func ofKuadrant() []Mutant {
	return []Mutant{
		{
			Name: "a commit of Kuadrant charges each time",
			Why:  "a gateway repeats a commit whose answer was lost; what was used is charged once",
			Edits: []Edit{{
				File: "rpc/doors/kuadrant/charge.go",
				Old:  `if once != "" {`,
				New:  `if once == "always" {`,
			}},
			Caught: []Hunt{{Package: "./rpc/doors/kuadrant", Run: "^TestCommitWithoutAHold$", Says: `reserve 90 \["method=GET user=alice"\]: code:OVER_LIMIT`}},
		},
		{
			Name: "a reservation of Kuadrant that nobody commits is charged",
			Why:  "a gateway that dies commits nothing; what it reserved comes back by itself",
			Edits: []Edit{{
				File: "rpc/doors/kuadrant/limitfile/limit.go",
				Old:  "OnExpiry: limit.Free",
				New:  "OnExpiry: limit.Charge",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/kuadrant", Run: "^TestReservationsEnd$", Says: `after a minute, less than 7 are left`}},
		},
		{
			Name: "values of Kuadrant that share a key",
			Why:  "values of variables are the client's to choose; without escapes, one of them can name the bucket of others",
			Edits: []Edit{{
				File: "rpc/doors/kuadrant/limitfile/key.go",
				Old:  "if strings.IndexByte(special, text[i]) >= 0 {",
				New:  "if special == \"\" && strings.IndexByte(special, text[i]) >= 0 {",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/kuadrant/limitfile", Run: "^TestKeys$", Says: `have the key`}},
		},
		{
			Name: "a hold without its definition",
			Why:  "the text of a hold of a limit that the request has defined has the definition, without which no node can settle it",
			Edits: []Edit{{
				File: "actor/owner/counting.go",
				Old:  "Inline: b.rule.Defined(), Generation",
				New:  "Generation",
			}},
			Caught: []Hunt{{Package: "./actor", Run: "^TestInlineHolds$", Says: `unknown hold`}},
		},
	}
}
