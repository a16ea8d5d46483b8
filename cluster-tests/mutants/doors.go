package mutants

// ofRedis are mutants of the door for clients of Redis.
func ofRedis() []Mutant {
	return []Mutant{
		{
			Name: "clients of Redis show no token",
			Why:  "where a door has tokens, a client that has shown none gets nothing but an error: it could spend of any key",
			Edits: []Edit{{
				File: "rpc/doors/redis/pipeline.go",
				Old:  "case !s.authed && !c.early:",
				New:  "case !s.authed && !c.early && c.arity == 0:",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/redis", Run: "^TestTokens$", Says: `with the password "": <nil>`}},
		},
		{
			Name: "Traefik lets pass what is denied",
			Why:  "Traefik's script answers with a wait, and one that is short enough admits: a denial has to tell a longer one than Traefik takes",
			Edits: []Edit{{
				File: "rpc/doors/redis/traefik.go",
				Old:  "delay = max(o.RetryAfter+most, most+time.Microsecond)",
				New:  "delay = o.RetryAfter",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/redis", Run: "^TestModels$", Says: `want false`}},
		},
		{
			Name: "clients of Redis pass while nothing is decided",
			Why:  "where no decision can be had a client gets an error, and chooses itself; a door that lets it pass meanwhile admits whatever comes while the owners are dead",
			Edits: []Edit{{
				File: "rpc/doors/redis/decide.go",
				Old:  "s.refuse(w.command.name, s.failure(result.Err, w.check))\n\t\t\tcontinue",
				New:  "result.Decision = limit.Decision{Allowed: true, Limits: make([]limit.Outcome, 1)}",
			}},
			Caught: []Hunt{{Package: "./cluster-tests", Run: "^TestDoorsKilled$", Says: `windows: \d+ violations`}},
		},
		{
			Name: "JETON.CHECK has buckets of its own",
			Why:  "a stored limit and a key are one bucket whichever door asks; with one for each door, who knows two doors is let do twice as much",
			Edits: []Edit{{
				File: "rpc/doors/redis/storedcheck.go",
				Old:  "request: limit.Request{Key: keyOf(args[1]), Cost",
				New:  "request: limit.Request{Key: \"redis:\" + keyOf(args[1]), Cost",
			}},
			Caught: []Hunt{{Package: "./cluster-tests", Run: "^TestDoorsKilled$", Says: `windows: \d+ violations`}},
		},
	}
}

// ofEnvoy are mutants of the doors for Envoy.
func ofEnvoy() []Mutant {
	return []Mutant{
		{
			Name: "descriptors of Envoy that share a key",
			Why:  "names and values of descriptors are the client's to choose; without escapes, one of them can name the bucket of another",
			Edits: []Edit{{
				File: "rpc/doors/rls/descriptors/key.go",
				Old:  "if strings.IndexByte(special, text[i]) >= 0 {",
				New:  "if special == \"\" && strings.IndexByte(special, text[i]) >= 0 {",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/rls/descriptors", Run: "^TestKeysDiffer$", Says: `have the key`}},
		},
		{
			Name: "a denied request of Envoy is charged",
			Why:  "a request that one descriptor denies takes nothing of the others, not even of those in shadow mode: otherwise who goes on after a denial uses up all his limits",
			Edits: []Edit{{
				File: "rpc/doors/rls/decide.go",
				Old:  "p.batch(ctx, d, !p.denied, observed)",
				New:  "p.batch(ctx, d, true, observed)",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/rls", Run: "^TestShadow$", Says: `a request that was denied took of a shadow`}},
		},
		{
			Name: "a client says who it is",
			Why:  "the address that Envoy has seen stands last, where proxies put it; in front of what the client sent, the client chooses its own",
			Edits: []Edit{{
				File: "rpc/doors/extauthz/question.go",
				Old:  `append(h["X-Forwarded-For"], q.client.String())`,
				New:  `append([]string{q.client.String()}, h["X-Forwarded-For"]...)`,
			}},
			Caught: []Hunt{{Package: "./rpc/doors/extauthz", Run: "^TestHeadersOfClientsOverrideNothing$", Says: `2 tokens are left`}},
		},
		{
			Name: "Envoy lets pass while nothing is decided",
			Why:  "where no decision can be had Envoy gets an error, and its failure_mode_deny counts; an answer of OK admits whatever comes while the owners are dead",
			Edits: []Edit{{
				File: "rpc/doors/rls/decide.go",
				Old:  "decision, err := d.cfg.Limiter.Check(ctx, a.request(true))\n\tif err != nil {\n\t\treturn err",
				New:  "decision, err := d.cfg.Limiter.Check(ctx, a.request(true))\n\tif err != nil {\n\t\treturn nil",
			}},
			Caught: []Hunt{{Package: "./cluster-tests", Run: "^TestDoorsKilled$", Says: `counts: \d+ violations`}},
		},
		{
			Name: "two lines of Envoy are one",
			Why:  "Envoy merges lines of one name by a comma; two API keys are then a key that nobody has, and a bucket of its own",
			Edits: []Edit{{
				File: "rpc/doors/extauthz/fields.go",
				Old:  "if merged[i] == ',' && (",
				New:  "if merged[i] == 0 && (",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/extauthz", Run: "^TestContradictingLines$", Says: `: 200`}},
		},
	}
}

// ofRatelimit are mutants of what stands in for Envoy's rate limit service.
func ofRatelimit() []Mutant {
	return []Mutant{
		{
			Name: "tokens that do not fit are forgotten",
			Why:  "Envoy reports tokens after they were used; where those that do not fit take nothing, a client goes on for ever with what is left",
			Edits: []Edit{{
				File: "rpc/doors/rls/charge.go",
				Old:  "case it.rule != nil && it.rule.Always, of.reported:",
				New:  "case it.rule != nil && it.rule.Always:",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/rls", Run: "^TestReported$", Says: `after 560 of 100`}},
		},
		{
			Name: "rules of another life of their server",
			Why:  "a server that starts again counts its versions anew; a client that names the one it has keeps rules that are gone",
			Edits: []Edit{{
				File: "rpc/doors/rls/xds/session.go",
				Old:  "ask := &discoveryv3.DiscoveryRequest{Node: c.node(), TypeUrl: typeURL}",
				New:  "ask := &discoveryv3.DiscoveryRequest{Node: c.node(), TypeUrl: typeURL, VersionInfo: \"1\"}",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/rls/xds", Run: "^TestServerComesBack$", Says: `of another stream`}},
		},
	}
}

// ofQuotas are mutants of the door that divides limits among Envoys.
func ofQuotas() []Mutant {
	return []Mutant{
		{
			Name: "an assignment that Envoy does not fill",
			Why:  "Envoy goes on with the token bucket that it has if the next one is equal, so each has another number where it looks",
			Edits: []Edit{{
				File: "rpc/doors/rlqs/bucket.go",
				Old:  "b.serial = (b.serial + 1) % serials",
				New:  "b.serial = 1",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/rlqs", Run: "^TestWire$", Says: `Envoy would not fill this bucket`}},
		},
		{
			Name: "an assignment that comes late",
			Why:  "the line of an assignment begins when its time and a second are over, counted from when it was asked for; one that is sent later is in force when time has passed its line",
			Edits: []Edit{{
				File: "rpc/doors/rlqs/stream.go",
				Old:  "if a.by != 0 && now >= a.by {",
				New:  "if a.by != 0 && now < 0 {",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/rlqs", Run: "^TestNoDecision$", Says: `too late`}},
		},
		{
			Name: "an assignment of line for an edge",
			Why:  "a node that does not know what Envoy needs gives line that begins too soon: while a cluster is upgraded, nothing of it may reach Envoy",
			Edits: []Edit{{
				File: "rpc/doors/rlqs/ask.go",
				Old:  "!liesBehind(a.terms.rule, l, a.terms.life+slack)",
				New:  "!liesBehind(a.terms.rule, l, 0)",
			}},
			Caught: []Hunt{{Package: "./rpc/doors/rlqs", Run: "^TestOlderNodes$", Says: `Envoy has tokens`}},
		},
	}
}
