package mutants

// ofAccess are mutants of who may do what, and how much.
func ofAccess() []Mutant { //nolint:funlen // a list
	return []Mutant{
		{
			Name: "a dropped cluster key is accepted",
			Why:  "a key is replaced because others may know it: who has the dropped one must be a stranger, or the rotation was for nothing",
			Edits: []Edit{{
				File: "ring/key/reload.go",
				Old:  "	k.current.Store(&next)",
				New:  "	next = append(next, now...)\n	k.current.Store(&next)",
			}},
			Caught: []Hunt{{Package: "./ring/key", Run: "^TestTLSFollowsTheFile$", Says: `who shows it is to be refused`}},
		},
		{
			Name: "connections outlive their cluster key",
			Why:  "who has connected with a key that is dropped must not go on over the open connection, which may last for years",
			Edits: []Edit{{
				File: "ring/key/reload.go",
				Old:  "	k.conns.cutOutdated(next)",
				New:  "",
			}},
			Caught: []Hunt{{Package: "./ring/key", Run: "^TestConnectionsEndWithTheirSecret$", Says: `has shown the dropped secret stays open`}},
		},
		{
			Name: "a caller that checks may fill",
			Why:  "a caller that may check may not fill buckets. Otherwise every caller can lift its own limit",
			Edits: []Edit{{
				File: "rpc/access/table.go",
				Old:  `{NodeGRPC, "/jeton.v1.Limiter/Reset", Change,`,
				New:  `{NodeGRPC, "/jeton.v1.Limiter/Reset", Check,`,
			}},
			Caught: []Hunt{
				{Package: "./rpc/access", Run: "^TestWhatTakesNoProof$", Says: `Limiter/Reset takes no proof`},
				{Package: "./rpc", Run: "^TestWhoMayFillOverGRPC$", Says: `it may: false`},
			},
		},
		{
			Name: "no guard before a method",
			Why:  "the table decides nothing unless a guard asks it before each method",
			Edits: []Edit{{
				File: "rpc/credentials/guard.go",
				Old:  "m.Handler = g.guarded(need, method, m.Handler)",
				New:  "_ = method",
			}},
			Caught: []Hunt{{Package: "./cmd/node", Run: "^TestEveryCallAsEveryCaller$", Says: `calls /jeton\.v1\.\S+: served true, want false`}},
		},
		{
			Name: "pages may ask",
			Why:  "a web page must not make a browser on the machine check or fill buckets at a loopback port",
			Edits: []Edit{{
				File: "rpc/web/guard.go",
				Old:  "if need > access.Reach && !counts {",
				New:  "if need > access.Key && !counts {",
			}},
			Caught: []Hunt{{Package: "./rpc/web", Run: "^TestWebPagesMayNotAsk$", Says: `it must get through: false`}},
		},
		{
			Name: "no bound on invented registers",
			Why:  "callers invent limits, and no sweep removes their registers for a year: without a bound they fill every disk",
			Edits: []Edit{{
				File: "storage/commit.go",
				Old:  "write && m.Inline && !exists && s.inline.total.Load() >= s.cfg.Inline",
				New:  "write && m.Inline && !exists && s.cfg.Inline < 0",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestInlineRegistersAreBounded$", Says: `were accepted, want`}},
		},
		{
			Name: "limits of a check are read without end",
			Why:  "a message is decoded before its parts are counted: two bytes of it must not become a hundred in memory, without a bound",
			Edits: []Edit{{
				File: "rpc/pb/incoming.go",
				Old:  "if len(refs)-r.refs > limit.MaxLimits {",
				New:  "if len(refs)-r.refs > limit.MaxBatch*limit.MaxBatch*limit.MaxLimits {",
			}},
			Caught: []Hunt{{Package: "./rpc", Run: "^TestSmallPiecesTakeLittle$", Says: `times as many`}},
		},
		{
			Name: "compressed messages are taken",
			Why:  "the bounds of a listener count what arrives; eight KiB that become eight MiB once they are read pass them all",
			Edits: []Edit{{
				File: "rpc/transport/uncompressed.go",
				Old:  "return grpc.RPCDecompressor(uncompressed{})",
				New:  "return grpc.RPCDecompressor(nil)",
			}},
			Caught: []Hunt{{Package: "./rpc", Run: "^TestCompressedMessagesAreRefused$", Says: `bytes were allocated`}},
		},
		{
			Name: "invented registers not counted at the start",
			Why:  "the count must survive a restart. Otherwise every restart lets as many be invented again",
			Edits: []Edit{{
				File: "storage/inline.go",
				Old:  "c.setPartition(c.partition, c.seen)",
				New:  "_ = c.seen",
			}},
			Caught: []Hunt{{Package: "./storage", Run: "^TestInlineRegistersAreBounded$", Says: `are counted in the next life`}},
		},
		{
			Name: "a header costs nothing",
			Why:  "a library keeps a header many times larger than its bytes: uncounted, calls that are counted fill a node all the same",
			Edits: []Edit{{
				File: "rpc/transport/meter.go",
				Old:  "held = min(n*fieldCost+spelled, callCost+maxHeaderCost-call.always)",
				New:  "held = 0 * (n + spelled)",
			}},
			Caught: []Hunt{
				{Package: "./rpc", Run: "^TestHeadersOfManyFieldsHoldLittle$", Says: `bytes of memory were in use`},
				{Package: "./rpc/transport", Run: "^TestFieldsAreCounted$", Says: `bytes are held for`},
			},
		},
		{
			Name: "a header over HTTP is forgotten",
			Why:  "a header stays until its request is answered, which the client decides: uncounted, slow bodies fill a node",
			Edits: []Edit{{
				File: "rpc/web/server.go",
				Old:  "if !conn.Begin(headerCost(r.Header)) {",
				New:  "if !conn.Begin(0 * headerCost(r.Header)) {",
			}},
			Caught: []Hunt{{Package: "./rpc", Run: "^TestHTTPHeadersOfManyLinesHoldLittle$", Says: `bytes of memory were in use`}},
		},
	}
}
