package mutants

// ofGubernator are mutants of the door for clients of gubernator.
func ofGubernator() []Mutant {
	return []Mutant{
		{
			Name: "windows of gubernator that are aligned",
			Why:  "no window of the duration has more hits than the limit, also the one that begins with a client's first hit; of aligned windows, two meet in it",
			Edits: []Edit{{
				File: "rpc/doors/gubernator/mapping.go",
				Old:  `l.Algorithm, l.Window = "sliding-window", s.length`,
				New:  `l.Algorithm, l.Window = "fixed-window", s.length`,
			}},
			Caught: []Hunt{{Package: "./rpc/doors/gubernator", Run: "^TestNeverMoreInAnyWindow$", Says: `passed in`}},
		},
		{
			Name: "a key of gubernator that looks like a digest",
			Why:  "a key that looks like the digest of a long one is digested too; taken as it is, whoever chooses it spends the long one's bucket",
			Edits: []Edit{{
				File: "rpc/doors/gubernator/bucket.go",
				Old:  "utf8.ValidString(unique) && !looksDigested(unique)",
				New:  "(utf8.ValidString(unique) || looksDigested(unique))",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/gubernator", Run: "^TestNobodyHasTheBucketOfALongKey$", Says: `is the key of two`}},
		},
		{
			Name: "an item of gubernator before a drain is over",
			Why:  "items of one key are decided in their order; in one batch with a drain, one behind it is admitted what the drain takes",
			Edits: []Edit{{
				File: "rpc/doors/gubernator/decider.go",
				Old:  "if drained[it.key] || it.reset && touched[it.key] {",
				New:  "if it.reset && touched[it.key] {",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/gubernator", Run: "^TestOrderOfOneKey$", Says: `item 2: `}},
		},
		{
			Name: "clients of gubernator fill stored limits",
			Why:  "operators fill buckets of stored limits; a behavior that fills them lets every caller lift the limit",
			Edits: []Edit{{
				File: "rpc/doors/gubernator/item.go",
				Old:  "\t\t\tif it.reset {\n",
				New:  "\t\t\tif it.reset && it.drain {\n",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/gubernator", Run: "^TestStoredLimits$", Says: `a reset of a stored limit`}},
		},
		{
			Name: "items of gubernator are read without end",
			Why:  "an item takes two bytes to send and a hundred to keep; a message of the largest size must not become a hundred times as large",
			Edits: []Edit{{
				File: "rpc/pb/gubernatorpb/bounded.go",
				Old:  "len(data) > 0 && items <= MaxItems",
				New:  "len(data) > 0",
			}},
			Caught: []Hunt{{Package: "./rpc/pb/gubernatorpb", Run: "^FuzzUnmarshalWire$", Says: `items of \d+ are read`}},
		},
	}
}
